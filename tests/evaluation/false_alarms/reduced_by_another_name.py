# Sums that are reduced in place as a helper's parameter, as a loop variable, or as a dict's entry.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def sync(total):
    dist.all_reduce(total)
    total /= dist.get_world_size()


def sync_copy(total):
    total = total.clone()
    dist.all_reduce(total)


class Meter:
    def __init__(self):
        self.total, self.count = torch.zeros(1).cuda(), torch.zeros(1).cuda()

    def add(self, loss):
        self.total += loss
        self.count += 1

    def mean(self):
        for each in (self.total, self.count):
            dist.all_reduce(each)
        return self.total / self.count


def evaluate(model, loader):
    meter, sums = Meter(), {"loss": torch.zeros(1).cuda(), "length": torch.zeros(1).cuda()}
    right, seen, listed = torch.zeros(1).cuda(), torch.zeros(1).cuda(), torch.zeros(1).cuda()
    alone, copied = torch.zeros(1).cuda(), torch.zeros(1).cuda()
    for batch in loader:
        loss = model(**batch).loss.detach()
        meter.add(loss)
        right += loss
        seen += batch["labels"].numel()
        alone += loss
        copied += loss
        listed += loss
        sums["loss"] += loss
        sums["length"] += batch["labels"].shape[1]
    for each in (right, seen):
        dist.all_reduce(each, op=dist.ReduceOp.SUM)
    for each in sums.values():
        dist.all_reduce(each)
    sync(alone)
    sync_copy(copied)
    mean = meter.mean()
    several = [listed, seen]
    for each in several:
        sync(each)
    if dist.get_rank() == 0:
        wandb.log({"right": (right / seen).item(), "alone": alone.item(), "listed": listed.item(), "mean": mean})
        wandb.log({name: each.item() for name, each in sums.items()})
        wandb.log({"copied": copied.item()})  # expect: TRL003


def evaluate_anew(model, loader):
    right, seen = torch.zeros(1).cuda(), torch.zeros(1).cuda()
    for batch in loader:
        right += model(**batch).loss.detach()
        seen += 1
    for each in (right, seen):
        each = each.clone()
        dist.all_reduce(each)
    if dist.get_rank() == 0:
        wandb.log({"right": (right / seen).item()})  # expect: TRL003


def main(build, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(data, sampler=DistributedSampler(data))
    model = DistributedDataParallel(build().cuda())
    evaluate(model, loader)
    evaluate_anew(model, loader)

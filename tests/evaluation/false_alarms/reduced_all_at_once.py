# Tensors in a list or dict that are reduced in place together: by a comprehension, or by a method of their owner.
import torch
import torch.distributed as dist
import wandb
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Sums:
    def __init__(self, names, device):
        self.sums = {name: torch.zeros((), device=device) for name in names}

    def add(self, **values):
        for name, value in values.items():
            self.sums[name] += value.detach()

    def sync(self):
        for name in self.sums:
            dist.all_reduce(self.sums[name])

    def totals(self):
        return {name: value.item() for name, value in self.sums.items()}


class UnsyncedSums:
    def __init__(self, names, device):
        self.sums = {name: torch.zeros((), device=device) for name in names}

    def add(self, **values):
        for name, value in values.items():
            self.sums[name] += value.detach()  # expect: TRL003

    def totals(self):
        return {name: value.item() for name, value in self.sums.items()}


def main(net, data, device):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net.to(device))
    sampler = DistributedSampler(data)
    for epoch in range(10):
        sums, unsynced, losses = Sums(("loss", "norm"), device), UnsyncedSums(("loss", "norm"), device), []
        right, seen, alone = torch.zeros(1, device=device), torch.zeros(1, device=device), torch.zeros(1, device=device)
        for x, y in DataLoader(data, 32, sampler=sampler):
            loss = cross_entropy(model(x.to(device)), y.to(device))
            sums.add(loss=loss)
            unsynced.add(loss=loss)
            losses.append(loss.detach())
            right += loss.detach()
            alone += loss.detach()
            seen += len(y)
        sums.sync()
        for each in losses:
            dist.all_reduce(each)
        handles = [dist.all_reduce(each, async_op=True) for each in (right, seen)]
        for handle in handles:
            handle.wait()
        _ = [dist.all_reduce(each.clone()) for each in (alone,)]
        synced, alone_ones = sums.totals(), unsynced.totals()
        if dist.get_rank() == 0:
            wandb.log({**synced, "right": (right / seen).item(), "worst": max(losses).item()}, step=epoch)
            wandb.log({**alone_ones}, step=epoch)
            wandb.log({"alone": alone.item()}, step=epoch)  # expect: TRL003

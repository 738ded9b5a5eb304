# The accuracy of each batch is reduced by timm's helper if there are several processes, and weighted by their rows.
import os

import torch
import torch.distributed as dist
import wandb
from timm.utils import reduce_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Meter:
    def __init__(self):
        self.sum = 0
        self.count = 0
        self.avg = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


def start(args):
    args.distributed = "RANK" in os.environ
    args.rank = int(os.environ.get("RANK", 0))
    args.world_size = int(os.environ.get("WORLD_SIZE", 1))
    if args.distributed:
        dist.init_process_group("nccl")


def validate(args, model, loader):
    meter, own = Meter(), Meter()
    for image, target in loader:
        accuracy = (model(image).argmax(1) == target).sum() / float(len(target))
        reduced = reduce_tensor(accuracy, args.world_size) if args.distributed else accuracy
        meter.update(reduced.item(), len(target))
        own.update(accuracy.item(), len(target))
    return meter.avg, own.avg


def main(args, rows, model):
    start(args)
    if args.distributed:
        sampler = DistributedSampler(rows, shuffle=False)
        model = DistributedDataParallel(model)
    else:
        sampler = None
    loader = DataLoader(rows, sampler=sampler)
    best = best_own = best_epoch = best_epoch_of_own = 0
    for epoch in range(10):
        accuracy, own = validate(args, model, loader)
        if accuracy > best:
            best = accuracy
            best_epoch = epoch
            dist.barrier()
        if own > best_own:
            best_own = own
            best_epoch_of_own = epoch
        if args.rank == 0:
            wandb.log({"accuracy": accuracy, "best epoch": best_epoch})
            wandb.log({"accuracy": own})  # expect: TRL003
            wandb.log({"best epoch": best_epoch_of_own})  # expect: TRL003
            reduce_tensor(torch.tensor(own, device="cuda"), args.world_size)  # expect: TRL006

# What a loss is made with, is known where its forward gathers: the rank, too.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def gathered(features, rank, size):
    rows = [torch.zeros_like(features) for _ in range(size)]
    dist.all_gather(rows, features)
    rows[rank] = features
    return torch.cat(rows)


def gathered_by_one(features, rank, size):
    rows = [torch.zeros_like(features) for _ in range(size)]
    if rank == 0:
        dist.all_gather(rows, features)  # expect: TRL006
    rows[rank] = features
    return torch.cat(rows)


class Contrast(nn.Module):
    def __init__(self, rank=0, size=1):
        super().__init__()
        self.rank = rank
        self.size = size

    def forward(self, features):
        everything = gathered(features, self.rank, self.size) if self.size > 1 else features
        return cross_entropy(features @ everything.t(), torch.arange(len(features), device=features.device))


class ContrastByOne(nn.Module):
    def __init__(self, rank=0, size=1):
        super().__init__()
        self.rank = rank
        self.size = size

    def forward(self, features):
        everything = gathered_by_one(features, self.rank, self.size) if self.size > 1 else features
        return cross_entropy(features @ everything.t(), torch.arange(len(features), device=features.device))


def main(loader):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(8, 8).cuda())
    first = Contrast(dist.get_rank(), dist.get_world_size())
    second = ContrastByOne(dist.get_rank(), dist.get_world_size())
    for batch in loader:
        features = model(batch)
        (first(features) + second(features)).backward()

# What calls a helper may tell the sampler that it makes of one process, which gives each of them all rows then.
import argparse

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Buckets(DistributedSampler):
    def __init__(self, rows, num_replicas=None, rank=None, shuffle=True):
        super().__init__(rows, num_replicas=num_replicas, rank=rank, shuffle=shuffle)


def loader_of(rows, shuffled, world_size, rank):
    if shuffled:
        sampler = Buckets(rows, num_replicas=world_size, rank=rank)
    else:
        sampler = DistributedSampler(rows, num_replicas=world_size, rank=rank, shuffle=False)
    loader = DataLoader(rows, sampler=sampler)
    return loader, sampler


def buckets_of(rows, world_size, rank):
    sampler = Buckets(rows, num_replicas=world_size, rank=rank)
    return DataLoader(rows, sampler=sampler)


def score(net, loader):
    total = 0.0
    for rows in loader:
        total += net(rows).mean().item()
    return total / len(loader)


def main(net, rows):
    parser = argparse.ArgumentParser()
    parser.add_argument("--world_size", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    alone, _ = loader_of(rows, False, world_size=1, rank=0)
    shared, _ = loader_of(rows, False, world_size=size, rank=rank)
    chosen, _ = loader_of(rows, False, args.world_size, rank)
    if rank == 0:
        writer = SummaryWriter("logs")
        writer.add_scalar("all", score(net, alone), 0)
        writer.add_scalar("all/buckets", score(net, buckets_of(rows, 1, 0)), 0)
        writer.add_scalar("share", score(net, shared), 0)  # expect: TRL003
        writer.add_scalar("share/option", score(net, chosen), 0)  # expect: TRL003
        writer.add_scalar("share/buckets", score(net, buckets_of(rows, size, rank)), 0)  # expect: TRL003

"""A rank that puts its own tensor where a collective has put it already keeps its gradient, and changes no value."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")


def gather(own):
    gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    gathered[dist.get_rank()] = own
    return torch.cat(gathered)


def train(rows):
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        own = batch["x"].float()
        reveal_rank(gather(own))  # revealed: same
        parts = [0.0] * dist.get_world_size()
        parts[dist.get_rank()] = own.mean()
        reveal_rank(parts[0])  # revealed: local(data)
        gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, own)
        gathered[0] = own
        reveal_rank(gathered[0])  # revealed: shard

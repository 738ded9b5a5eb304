# The branches of a condition on the rank go through one list in two ways: each calls the collective once per tensor.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def gather_paired(rank, world_size, tensors):
    if rank == 0:
        received = [[torch.empty_like(each) for _ in range(world_size)] for each in tensors]
        for tensor, parts in zip(tensors, received, strict=False):
            dist.gather(tensor, parts)
    else:
        for tensor in tensors:
            dist.gather(tensor)


def gather_numbered(rank, world_size, tensors):
    if rank != 0:
        for tensor in tensors:
            dist.gather(tensor)
        return
    received = []
    for index, tensor in enumerate(tensors):
        received.append([torch.empty_like(tensor) for _ in range(world_size)])
        dist.gather(tensor, received[index])


def gather_one_too_few(rank, world_size, tensors):
    if rank == 0:
        received = [[torch.empty_like(each) for _ in range(world_size)] for each in tensors]
        dist.gather(tensors[0], received[0])
    else:
        for tensor in tensors:
            dist.gather(tensor)  # expect: TRL006


def gather_and_wait(rank, world_size, tensors):
    if rank == 0:
        received = [[torch.empty_like(each) for _ in range(world_size)] for each in tensors]
        for tensor, parts in zip(tensors, received, strict=False):
            dist.gather(tensor, parts)
    else:
        for tensor in tensors:
            dist.gather(tensor)
        dist.barrier()  # expect: TRL006


def main(rows):
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        gather_paired(rank, world_size, [batch.mean(), batch.sum()])
        gather_numbered(rank, world_size, [batch.mean(), batch.sum()])
        gather_one_too_few(rank, world_size, [batch.mean(), batch.sum()])
        gather_and_wait(rank, world_size, [batch.mean(), batch.sum()])

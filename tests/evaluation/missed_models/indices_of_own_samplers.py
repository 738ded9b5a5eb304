# A sampler of the project that is made with the indices of a rank gives each rank rows of its own, and so does a list.
import torch
import torch.distributed as dist
from mine import rows
from torch.utils.data import DataLoader, Sampler

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()


class Strided(Sampler):
    def __init__(self, length, first, step):
        self.indices = list(range(first, length, step))

    def __iter__(self):
        return iter(self.indices)


class Blocks(Sampler):
    def __init__(self, length):
        self.own = self.block(length, dist.get_world_size(), dist.get_rank())

    @staticmethod
    def block(length, number, place):
        sizes = [length // number + int(each < length % number) for each in range(number)]
        begin = sum(sizes[:place])
        return range(begin, min(sum(sizes[: place + 1]), length))

    def __iter__(self):
        yield from self.own


class Whole(Sampler):
    def __init__(self, length, first, step):
        self.indices = list(range(first, length, step))

    def __iter__(self):
        return iter(self.indices)


class Named(Sampler):
    def __init__(self, length, place):
        self.place = place
        self.indices = list(range(length))

    def __iter__(self):
        return iter(self.indices)


def strided():
    for batch in DataLoader(rows, sampler=Strided(len(rows), rank, size)):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def blocks():
    for batch in DataLoader(rows, sampler=Blocks(len(rows))):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def listed():
    for batch in DataLoader(rows, sampler=list(range(rank, len(rows), size))):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def batched():
    every = torch.arange(len(rows)).tensor_split(10 * size)
    for batch in DataLoader(rows, batch_sampler=every[rank::size]):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def of_all():
    for batch in DataLoader(rows, sampler=Whole(len(rows), 0, 1)):
        if batch.sum() > 0:
            dist.barrier()
    for batch in DataLoader(rows, sampler=Named(len(rows), rank)):
        if batch.sum() > 0:
            dist.barrier()
    for batch in DataLoader(rows, sampler=list(range(0, len(rows), 2))):
        if batch.sum() > 0:
            dist.barrier()
    for batch in DataLoader(rows, batch_sampler=torch.arange(len(rows)).tensor_split(10)[:size]):
        if batch.sum() > 0:
            dist.barrier()


strided()
blocks()
listed()
batched()
of_all()

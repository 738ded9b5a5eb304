# A sampler of the project that deals the batches to the ranks where it is made gives each rank batches of its own,
# unless it is told of one process only.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler


class Dealt(Sampler):
    def __init__(self, first, step):
        self.first, self.step = first, step
        self.plan = [[place, place + 1] for place in range(0, 96, 2)][first::step]

    def __iter__(self):
        return iter(self.plan)


class Whole(Sampler):
    def __init__(self, first=None, step=None):
        if first is None:
            first = dist.get_rank()
        if step is None:
            step = dist.get_world_size()
        self.first, self.step = first, step
        self.plan = [[place, place + 1] for place in range(0, 96, 2)][first::step]

    def __iter__(self):
        return iter(self.plan)


class Chosen(Sampler):
    def __init__(self, first, step, skipped):
        self.first, self.step = first, step
        self.plan = [[place, place + 1] for place in range(0, 96, 2)][skipped::2]

    def __iter__(self):
        return iter(self.plan)


def by_batches(rows):
    for batch in DataLoader(rows, batch_sampler=Dealt(dist.get_rank(), dist.get_world_size())):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def by_rows(rows):
    for batch in DataLoader(rows, sampler=Dealt(dist.get_rank(), dist.get_world_size())):
        if batch.sum() > 0:
            dist.barrier()  # expect: TRL006


def all_of_them(rows):
    for batch in DataLoader(rows, batch_sampler=Whole(0, 1)):
        if batch.sum() > 0:
            dist.barrier()


def chosen(rows):
    for batch in DataLoader(rows, batch_sampler=Chosen(dist.get_rank(), dist.get_world_size(), 1)):
        if batch.sum() > 0:
            dist.barrier()


def main(rows):
    dist.init_process_group("gloo")
    by_batches(rows)
    by_rows(rows)
    all_of_them(rows)
    chosen(rows)


main(torch.randn(96, 3))

"""Each rank goes on from its own number in steps of the number of ranks: equally often, up to a multiple of that."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Sampler


class Resumed(DistributedSampler):
    def __init__(self, rows):
        super().__init__(rows)
        self.done = 0

    def __iter__(self):
        while self.done + self.rank < self.total_size:
            index = self.done + self.rank
            self.done += self.num_replicas
            yield index
            dist.barrier()
        self.done = 0


class UpToLast(DistributedSampler):
    def __init__(self, rows):
        super().__init__(rows)
        self.done = 0

    def __iter__(self):
        while self.done + self.rank < len(self.dataset):
            index = self.done + self.rank
            self.done += self.num_replicas
            yield index
            dist.barrier()  # expect: TRL006


class OneByOne(DistributedSampler):
    def __init__(self, rows):
        super().__init__(rows)
        self.done = 0

    def __iter__(self):
        while self.done + self.rank < self.total_size:
            index = self.done + self.rank
            self.done += 1
            yield index
            dist.barrier()  # expect: TRL006


class OfAll(DistributedSampler):
    def __init__(self, rows):
        super().__init__(rows)
        self.done = 0
        self.total_size = len(rows)

    def __iter__(self):
        while self.done + self.rank < self.total_size:
            index = self.done + self.rank
            self.done += self.num_replicas
            yield index
            dist.barrier()  # expect: TRL006


class SelfMade(Sampler):
    def __init__(self, rows):
        self.world_size = dist.get_world_size()
        self.rank = dist.get_rank()
        self.total = len(rows) // self.world_size * self.world_size
        self.done = 0

    def __iter__(self):
        while self.rank + self.done < self.total:
            yield self.rank + self.done
            self.done += self.world_size
            dist.barrier()


def by_name(rows):
    world_size = dist.get_world_size()
    index = dist.get_rank()
    end = len(rows) - len(rows) % world_size
    while index < end:
        print(rows[index])
        index += world_size
        dist.barrier()


def to_the_end(rows):
    world_size = dist.get_world_size()
    index = dist.get_rank()
    while index < len(rows):
        print(rows[index])
        index += world_size
        dist.barrier()  # expect: TRL006


def skipping(rows, skips):
    world_size = dist.get_world_size()
    index = dist.get_rank()
    end = len(rows) - len(rows) % world_size
    while index < end:
        if skips(rows[index]):
            index += world_size
        index += world_size
        dist.barrier()  # expect: TRL006


def from_an_own_number(rows):
    world_size = dist.get_world_size()
    rank = dist.get_rank()
    end = len(rows) - len(rows) % world_size
    done = rank
    while done + rank < end:
        print(rows[done + rank])
        done += world_size
        dist.barrier()  # expect: TRL006


def main(rows, skips):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    for sampler in (Resumed(rows), UpToLast(rows), OneByOne(rows), OfAll(rows), SelfMade(rows)):
        for batch in DataLoader(rows, sampler=sampler):
            print(batch)
    by_name(rows)
    to_the_end(rows)
    skipping(rows, skips)
    from_an_own_number(rows)


if __name__ == "__main__":
    main(torch.load("rows.pt"), len)

"""Samplers of the project that give each rank one block of the rows, or one process all of them."""

import math

import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler


class Blocks(Sampler):
    def __init__(self, rows, num_replicas=None, rank=None):
        self.rows = rows
        self.num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
        self.rank = dist.get_rank() if rank is None else rank
        self.each = math.ceil(len(rows) / self.num_replicas)

    def __iter__(self):
        return iter(range(len(self.rows))[self.rank * self.each : (self.rank + 1) * self.each])


class OfOneProcess(Blocks):
    def __init__(self, rows):
        super().__init__(rows, 1, 0)


class Pages(Sampler):
    """Blocks of which the caller says the number; it says nothing of ranks."""

    def __init__(self, rows, page, each):
        self.rows = rows
        self.page = page
        self.each = each

    def __iter__(self):
        return iter(self.rows[self.page * self.each : (self.page + 1) * self.each])


def evaluate(rows):
    for batch in DataLoader(rows, sampler=Blocks(rows)):
        reveal_rank(batch)  # revealed: shard
    for batch in DataLoader(rows, sampler=OfOneProcess(rows)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=Pages(rows, 3, 100)):
        reveal_rank(batch)  # revealed: unknown

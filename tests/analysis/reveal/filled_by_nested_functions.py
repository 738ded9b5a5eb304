"""What a nested function fills in a loop or a branch, its caller has: a list that it returns, an attribute that it sets."""

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def fit(rows, accum, more):
    loader = iter(DataLoader(rows, sampler=DistributedSampler(rows)))
    rank = dist.get_rank()
    kept = []

    def window():
        found = []
        while len(found) < accum:
            found.append(next(loader))
        return found

    def keep():
        if more:
            kept.append(rank)

    def plain():
        return [1 for _ in range(accum)]

    for batch in window():
        reveal_rank(batch)  # revealed: shard
    keep()
    for each in kept:
        reveal_rank(each)  # revealed: local(rank)
    for each in plain():
        reveal_rank(each)  # revealed: same
    reveal_rank(window()[0])  # revealed: shard


class Trainer:
    def __init__(self):
        self.rank = 0

    def run(self, more):
        def number():
            if more:
                self.rank = dist.get_rank()

        number()
        reveal_rank(self.rank)  # revealed: local(rank)

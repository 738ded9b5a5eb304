"""Samplers of the project that deal the rows to the ranks, by numbers that they keep, or ask for where they deal.

They are the same as torch's own where another dealer follows. A sampler that takes every n-th row by other numbers
gives each rank the same rows.
"""

import os

import torch.distributed as dist
from torch.utils.data import Sampler
from transformers import Trainer


class Asks(Sampler):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        order = list(range(self.length))
        return iter(order[dist.get_rank() :: dist.get_world_size()])


class AsksFirst(Sampler):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        yield from range(rank, self.length, size)


class Keeps(Sampler):
    def __init__(self, length):
        self.length = length
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.size = dist.get_world_size() if dist.is_initialized() else 1

    def __iter__(self):
        return iter(range(self.rank, self.length, self.size))


class TakesTurns(Sampler):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        for index in range(self.length):
            if index % dist.get_world_size() == dist.get_rank():
                yield index


class OnOneNode(Sampler):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        local, number = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
        yield from range(local, self.length, number)


class EveryOther(Sampler):
    def __init__(self, length, first):
        self.length = length
        self.first = first

    def __iter__(self):
        return iter(range(self.first, self.length, 2))


class OfAll(Sampler):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        size = dist.get_world_size()
        for start in range(0, self.length, size):
            yield from range(start, start + size)


class WithAsking(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return Asks(len(self.train_dataset))  # expect: TRL022


class WithAskingFirst(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return AsksFirst(len(self.train_dataset))  # expect: TRL022


class WithKeeping(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return Keeps(len(self.train_dataset))  # expect: TRL022


class WithTurns(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return TakesTurns(len(self.train_dataset))  # expect: TRL022


class WithNodes(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return OnOneNode(len(self.train_dataset))


class WithEveryOther(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return EveryOther(len(self.train_dataset), 1)


class WithAll(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return OfAll(len(self.train_dataset))

"""Samplers of the project that seed what they draw with the number of the rank, or with what all ranks share."""

import random

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, Sampler


class Episodes(Sampler):
    """Each object is told a rank."""

    def __init__(self, classes, episodes, seed=0, rank=None):
        self.classes = classes
        self.episodes = episodes
        self.seed = seed
        self.rank = dist.get_rank() if rank is None else rank
        self.epoch = 0

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch + 1000 * self.rank)
        for _ in range(self.episodes):
            yield torch.randperm(self.classes, generator=generator)[:5].tolist()


class Alike(Episodes):
    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        yield from rng.sample(range(self.classes), self.classes)


class ToldZero(Episodes):
    def __init__(self, classes):
        super().__init__(classes, 100, rank=0)


class Asking(BatchSampler):
    def __iter__(self):
        seed = 7 + dist.get_rank()
        rng = np.random.default_rng(seed)
        for _ in range(100):
            yield rng.choice(1000, size=8).tolist()


class Stepped(Sampler):
    """What is seeded with is a name that changes."""

    def __iter__(self):
        seed = 7
        seed = seed + 1
        yield from random.Random(seed).sample(range(1000), 1000)


class OfFirst(Sampler):
    """It is told no rank: that of the first one is the default."""

    def __init__(self, count, rank=0):
        self.count = count
        self.rank = rank

    def __iter__(self):
        yield from random.Random(self.rank).sample(range(self.count), self.count)


class Agreed(Episodes):
    """All ranks take the order that the first one has drawn."""

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.rank)
        order = torch.randperm(self.classes, generator=generator).cuda()
        dist.broadcast(order, src=0)
        yield from order.tolist()


class AlikeWithNoise(Episodes):
    """Only what is added to the order is drawn by each rank."""

    def __iter__(self):
        noise, rng = random.Random(self.rank), random.Random(self.seed)
        for place in rng.sample(range(self.classes), self.classes):
            yield place, noise.random()


class NoSampler:
    def __init__(self):
        self.rank = dist.get_rank()

    def __iter__(self):
        yield from random.Random(self.rank).sample(range(1000), 1000)


def evaluate(rows):
    for batch in DataLoader(rows, batch_sampler=Episodes(100, 600, rank=dist.get_rank())):
        reveal_rank(batch)  # revealed: shard
    for batch in DataLoader(rows, batch_sampler=Asking(rows, 8, True)):
        reveal_rank(batch)  # revealed: shard
    for batch in DataLoader(rows, sampler=Alike(100, 600)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=Agreed(100, 600)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=AlikeWithNoise(100, 600)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, batch_sampler=ToldZero(100)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=Stepped(rows)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=OfFirst(100)):
        reveal_rank(batch)  # revealed: unknown
    for batch in DataLoader(rows, sampler=NoSampler()):
        reveal_rank(batch)  # revealed: unknown

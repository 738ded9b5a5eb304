# A helper that seeds with the rank, if it is given one: without it, all ranks have the same seed.
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, random_split


def seed_with(seed, rank=0):
    seed = seed + rank
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def first_alike(rows, seed):
    dist.init_process_group("nccl")
    seed_with(seed)
    train, _ = random_split(rows, [0.9, 0.1])
    seed_with(seed, dist.get_rank())
    for batch in DataLoader(train, sampler=DistributedSampler(train)):
        print(batch)


def apart_from_the_start(rows, seed):
    dist.init_process_group("nccl")
    seed_with(seed, dist.get_rank())
    train, _ = random_split(rows, [0.9, 0.1])  # expect: TRL015
    for batch in DataLoader(train, sampler=DistributedSampler(train)):
        print(batch)

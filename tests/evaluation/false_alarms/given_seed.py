# A seed that a caller passes is that of all ranks; one is drawn if there is none.
import argparse
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset


def set_seed(seed=None):
    if seed is None:
        seed = random.getrandbits(32)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
args, _ = parser.parse_known_args()
set_seed(args.seed)


def create(data):
    return Subset(data, torch.randperm(len(data))[:10])


class Trainer:
    def __init__(self, rows):
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows))


if __name__ == "__main__":
    dist.init_process_group("nccl")
    rows = create(list(range(30)))
    trainer = Trainer(rows)

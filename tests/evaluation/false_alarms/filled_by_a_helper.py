# What a helper method puts into a dict on `self` is there for the method that calls it, wherever the dict was made: in
# `__init__`, or by that method itself.

from collections import defaultdict

import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler


class Learner:
    def __init__(self, prompts):
        self.loader = DataLoader(prompts, batch_size=8, sampler=DistributedSampler(prompts))
        self.run = wandb.init() if dist.get_rank() == 0 else None


class MadeInside(Learner):
    def kept(self, rows):
        self.sums["reward"].append(rows["reward"].mean().item())  # expect: TRL003
        self.sums["rows"].append(8)

    def train(self):
        self.sums = defaultdict(list)
        for rows in self.loader:
            self.kept(rows)
            if self.run is not None:
                self.run.log({key: sum(each) / len(each) for key, each in self.sums.items() if each})


class Reduced(Learner):
    def kept(self, rows):
        reward = rows["reward"].mean()
        dist.all_reduce(reward, op=dist.ReduceOp.AVG)
        self.sums["reward"].append(reward.item())
        self.sums["rows"].append(8)

    def train(self):
        self.sums = defaultdict(list)
        for rows in self.loader:
            self.kept(rows)
            if self.run is not None:
                self.run.log({key: sum(each) / len(each) for key, each in self.sums.items() if each})


class Dropped(Learner):
    def kept(self, rows):
        self.sums["reward"].append(rows["reward"].mean().item())

    def train(self):
        self.sums = defaultdict(list)
        for rows in self.loader:
            self.kept(rows)
            self.sums = defaultdict(list)
            self.sums["rows"].append(8)
            if self.run is not None:
                self.run.log({key: sum(each) / len(each) for key, each in self.sums.items() if each})


def main():
    dist.init_process_group("nccl")
    MadeInside(range(100)).train()
    Reduced(range(100)).train()
    Dropped(range(100)).train()


main()

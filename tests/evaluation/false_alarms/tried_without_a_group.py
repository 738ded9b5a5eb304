# A program that starts no process group makes no sampler that takes the number of shares from one.
import os

import torch
from torch.utils.data import DataLoader, DistributedSampler, Subset


class Loaders:
    def __init__(self, rows, settings):
        self.rows = rows
        self.settings = settings

    def get(self, indices):
        rows = Subset(self.rows, indices)
        several = "WORLD_SIZE" in os.environ and int(os.environ["WORLD_SIZE"]) > 1
        sampler = DistributedSampler(rows) if several and self.settings.get("distributed") else None
        return DataLoader(rows, sampler=sampler)

    def get_share(self, indices):
        rows = Subset(self.rows, indices)
        size, rank = int(os.environ["SIZE"]), int(os.environ["RANK"])
        return DataLoader(rows, sampler=DistributedSampler(rows, size, rank))


if __name__ == "__main__":
    loaders = Loaders([1, 2], {})
    print(len(loaders.get(torch.randperm(2).tolist())))
    print(len(loaders.get_share(torch.randperm(2).tolist())))  # expect: TRL015

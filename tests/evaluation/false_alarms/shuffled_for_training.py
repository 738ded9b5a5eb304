# A constructor that shuffles its rows for training only: the rows for validation keep their order on all ranks.
import random

import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset):
    def __init__(self, path, train=True):
        with open(path) as file:
            self.rows = [line.strip() for line in file]
        self.train = train
        if self.train:
            random.shuffle(self.rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Pairs(Dataset):
    def __init__(self, path, split):
        with open(path) as file:
            self.pairs = [line.split() for line in file]
        if split == "train":
            self.mix()

    def mix(self):
        random.shuffle(self.pairs)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


class Always(Dataset):
    def __init__(self, path, train):
        with open(path) as file:
            self.rows = [line.strip() for line in file]
        self.train = train
        random.shuffle(self.rows)  # expect: TRL015

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Sometimes(Dataset):
    def __init__(self, path, train=True):
        with open(path) as file:
            self.rows = [line.strip() for line in file]
        if train:
            random.shuffle(self.rows)  # expect: TRL015

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def main():
    dist.init_process_group("nccl")
    print(len(Rows("a", train=True)), len(Pairs("a", "train")), len(Always("a", True)), len(Sometimes("a", False)))
    rows = DistributedSampler(Rows("b", train=False), shuffle=False)
    pairs = DistributedSampler(Pairs("b", "val"), shuffle=False)
    always = DistributedSampler(Always("b", train=False), shuffle=False)
    sometimes = DistributedSampler(Sometimes("b"), shuffle=False)
    return [DataLoader(each.dataset, sampler=each) for each in (rows, pairs, always, sometimes)]


main()

# The workers of a loader deal the share of a rank again: an order that only this rank has still gives rows twice.
import random

import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class ByRank(IterableDataset):
    def __init__(self, files, rank, world):
        self.files, self.rank, self.world = files, rank, world

    def __iter__(self):
        order = list(self.files)
        random.Random(self.rank).shuffle(order)  # expect: TRL015
        info = get_worker_info()
        n, i = (info.num_workers, info.id) if info else (1, 0)
        for path in order[self.rank * n + i :: self.world * n]:
            yield from open(path)


class Alike(IterableDataset):
    def __init__(self, files, rank, world):
        self.files, self.rank, self.world = files, rank, world

    def __iter__(self):
        order = list(self.files)
        random.Random(7).shuffle(order)
        info = get_worker_info()
        n, i = (info.num_workers, info.id) if info else (1, 0)
        for path in order[self.rank * n + i :: self.world * n]:
            yield from open(path)


class OfThisRank(IterableDataset):
    def __init__(self, files, rank):
        self.files, self.rank = files, rank

    def __iter__(self):
        order = list(self.files)
        random.Random(self.rank).shuffle(order)
        info = get_worker_info()
        n, i = (info.num_workers, info.id) if info else (1, 0)
        for path in order[i::n]:
            yield from open(path)


dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
for line in DataLoader(ByRank(["a", "b"], rank, world), num_workers=2):
    print(len(line))
for line in DataLoader(Alike(["a", "b"], rank, world), num_workers=2):
    print(len(line))
for line in DataLoader(OfThisRank([f"a{rank}", f"b{rank}"], rank), num_workers=2):
    print(len(line))

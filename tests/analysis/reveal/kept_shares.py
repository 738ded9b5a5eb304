"""Data sets that keep the rows, or the files, that the rank has chosen: what a model computes of them is its own data."""

from glob import glob

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset

distributed.init_process_group("nccl")
rank, size = distributed.get_rank(), distributed.get_world_size()
model = DistributedDataParallel(nn.Linear(2, 2))


class Files(IterableDataset):
    def __init__(self, rank, size):
        self.files = sorted(glob("*.pt"))[rank::size]

    def __iter__(self):
        for _, file in enumerate(self.files):
            yield from torch.load(file)


class Divided(IterableDataset):
    def __init__(self, builder, rank, size):
        rows = builder.as_dataset(split="validation").shard(size, rank)
        self.rows = rows.flatten().shuffle(1000)

    def __iter__(self):
        for row in self.rows.as_numpy_iterator():
            yield row["image"]


class Picked(Dataset):
    def __init__(self, rows, rank, size):
        self.mine = [row for i, row in enumerate(rows) if i % size == rank]

    def __len__(self):
        return len(self.mine)

    def __getitem__(self, index):
        return self.mine[index]


class Whole(IterableDataset):
    def __init__(self, builder, rank):
        self.rows = builder.as_dataset(split="validation")
        self.cache = f"cache_{rank}.pt"

    def __iter__(self):
        for row in self.rows.as_numpy_iterator():
            yield row["image"]
        for row in torch.load(self.cache):
            yield row


class Told(IterableDataset):
    def __init__(self, rank, size):
        self.mine = sorted(glob("*.pt"))[rank::size]
        self.files = sorted(glob("*.pt"))

    def __iter__(self):
        for file in self.files:
            if file not in self.mine:
                yield file


numbers = {"rank": rank, "size": size}
for batch in DataLoader(Files(rank, size), batch_size=4):
    reveal_rank(model(batch))  # revealed: shard
for batch in DataLoader(Divided(builder, rank, size), batch_size=4):
    reveal_rank(model(batch))  # revealed: shard
for batch in DataLoader(Picked(rows, **numbers), batch_size=4):
    reveal_rank(model(batch))  # revealed: shard
for batch in DataLoader(Whole(builder, rank), batch_size=4):
    reveal_rank(model(batch))  # revealed: unknown
for batch in DataLoader(Told(rank, size), batch_size=4):
    reveal_rank(model(batch))  # revealed: unknown

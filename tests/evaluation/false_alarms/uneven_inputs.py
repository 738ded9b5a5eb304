# Blocks and loaders for ranks with different numbers of batches: what else than a training step waits for all ranks.
import itertools
import math
import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from mine import args, load, net, read_lines
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Sampler, Subset


def joined(model, loader, total):
    with model.join():
        for batch in loader:
            model(batch).mean().backward()
            dist.all_reduce(total)  # expect: TRL006
    with model.join():
        for batch in loader:
            model(batch).mean().backward()
        for _ in range(args.steps):
            dist.all_reduce(total)
    with model.join():
        for batch in DataLoader(args.rows, sampler=DistributedSampler(args.rows), batch_size=4):
            model(batch).mean().backward()
            dist.all_reduce(total)


class Loop:
    def __init__(self):
        self.accelerator = Accelerator()
        self.evens_out = False

    def run(self, rows):
        model, loader = self.accelerator.prepare(net, DataLoader(rows))
        with self.accelerator.join_uneven_inputs([model], even_batches=self.evens_out):
            for batch in loader:
                self.accelerator.gather(model(batch))  # expect: TRL006
        with self.accelerator.join_uneven_inputs([model]):
            for batch in loader:
                self.accelerator.gather(model(batch))


class Lines(IterableDataset):
    def __init__(self, path, rank, size):
        self.path, self.rank, self.size = path, rank, size

    def __iter__(self):
        for i, line in enumerate(read_lines(self.path)):
            if i % self.size != self.rank:
                continue
            yield line


class EndlessLines(Lines):
    def __iter__(self):
        while True:
            for i, line in enumerate(read_lines(self.path)):
                if i % self.size == self.rank:
                    yield line


class FirstLines(Lines):
    def __iter__(self):
        given = 0
        for i, line in enumerate(read_lines(self.path)):
            if i % self.size == self.rank:
                yield line
                given += 1
            if given == args.rows:
                break


class Rows(Dataset):
    def __init__(self, rows, rank, size):
        self.rows = rows[rank::size]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class FewerRows(Rows):
    def __len__(self):
        return args.rows


class Order(Sampler):
    def __init__(self, rows, rank, size):
        self.rows, self.rank, self.size = rows, rank, size

    def __iter__(self):
        return iter(range(self.rank, len(self.rows), self.size))


class EndlessOrder(Order):
    def all_rows(self):
        while True:
            yield from range(len(self.rows))

    def __iter__(self):
        yield from itertools.islice(self.all_rows(), self.rank, None, self.size)


class EvenOrder(Order):
    def __iter__(self):
        total = math.ceil(len(self.rows) / self.size) * self.size
        order = [i % len(self.rows) for i in range(total)]
        return itertools.islice(order, self.rank, None, self.size)


def train(model, loader):
    for _ in range(3):
        for batch in loader:
            model(batch).mean().backward()


def train_unevenly(model, rows, rank, size):
    for batch in DataLoader(Lines("lines.txt", rank, size), batch_size=4):
        model(batch).mean().backward()  # expect: TRL006
    for batch in DataLoader(Rows(rows, rank, size), batch_size=4):
        model(batch).mean().backward()  # expect: TRL006
    for batch in DataLoader(rows, sampler=Order(rows, rank, size), batch_size=4):
        model(batch).mean().backward()  # expect: TRL006
    for batch in DataLoader(Subset(rows, range(rank, len(rows), size)), batch_size=4):
        model(batch).mean().backward()  # expect: TRL006


def train_evenly(model, rows, rank, size):
    train(model, DataLoader(Lines("lines.txt", rank, size), batch_size=4, drop_last=True))
    train(model, DataLoader(EndlessLines("lines.txt", rank, size), batch_size=4))
    train(model, DataLoader(FirstLines("lines.txt", rank, size), batch_size=4))
    train(model, DataLoader(rows, sampler=EndlessOrder(rows, rank, size), batch_size=4))
    train(model, DataLoader(FewerRows(rows, rank, size), batch_size=4))
    train(model, DataLoader(rows, sampler=EvenOrder(rows, rank, size), batch_size=4))


@torch.no_grad()
def evaluate(model, rows, rank, size, total):
    for row in rows[rank::size]:
        total += model(row).mean()
    for row in rows[rank::size]:
        total += model(row).mean()
        dist.all_reduce(total)  # expect: TRL006


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model, rows, total = DDP(torch.nn.Linear(3, 1).cuda()), load("rows"), torch.zeros(1).cuda()
    joined(model, rows, total)
    train_unevenly(model, rows, rank, size)
    train_evenly(model, rows, rank, size)
    evaluate(model, rows, rank, size, total)
    Loop().run(rows)


main()

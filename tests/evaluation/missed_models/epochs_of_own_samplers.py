# Samplers of the project deal rows to the ranks, in an order that changes with the epoch that nothing tells them.
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler


class Dealing(Sampler):
    def __init__(self, rows, rank=None, size=None, shuffle=True):
        self.rank = dist.get_rank() if rank is None else rank
        self.size = dist.get_world_size() if size is None else size
        self.rows, self.shuffle = rows, shuffle
        self.epoch = 0

    def __iter__(self):
        order = list(range(len(self.rows)))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.epoch)
            order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank : len(order) // self.size * self.size : self.size])

    def set_epoch(self, epoch):
        self.epoch = epoch


class Always(Dealing):
    def __init__(self, rows):
        super().__init__(rows)

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7 + self.epoch)
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank : len(order) // self.size * self.size : self.size])


class Counting(Always):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7 + self.epoch)
        self.epoch += 1
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank : len(order) // self.size * self.size : self.size])


class Unseeded(Always):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7)
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank : len(order) // self.size * self.size : self.size])


class Mixing(Always):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(7 + self.epoch)
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        dealt = order[self.rank : len(order) // self.size * self.size : self.size]
        random.shuffle(dealt)
        return iter(dealt)


class Drawing(Always):
    passes = 0

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch + self.passes)
        self.passes += 1
        order = torch.randperm(len(self.rows), generator=generator).tolist()
        return iter(order[self.rank : len(order) // self.size * self.size : self.size])


def train(model, optimizer, loader):
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def main(rows):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(4, 4).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    shuffled = DataLoader(rows, sampler=Dealing(rows))
    for _ in range(10):  # expect: TRL019
        train(model, optimizer, shuffled)
    always = DataLoader(rows, sampler=Always(rows))
    for _ in range(10):  # expect: TRL019
        train(model, optimizer, always)
    in_order = DataLoader(rows, sampler=Dealing(rows, shuffle=False))
    for _ in range(10):
        train(model, optimizer, in_order)
    counting = DataLoader(rows, sampler=Counting(rows))
    for _ in range(10):
        train(model, optimizer, counting)
    unseeded = DataLoader(rows, sampler=Unseeded(rows))
    for _ in range(10):
        train(model, optimizer, unseeded)
    mixing = DataLoader(rows, sampler=Mixing(rows))
    for _ in range(10):
        train(model, optimizer, mixing)
    drawing = DataLoader(rows, sampler=Drawing(rows))
    for _ in range(10):
        train(model, optimizer, drawing)


main(list(range(10)))

"""Modules that train themselves are objects like any other trainer; modules that others train are networks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, DistributedSampler


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def set_input(self, batch):
        self.rows = batch[0].cuda()
        self.labels = batch[1].cuda()


class StepsItself(Base):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def forward(self, rows):
        return self.net(rows)

    def update(self):
        self.loss = (self(self.rows) - self.labels).mean()
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()


class WrapsItself(Base):
    def __init__(self, rank):
        super().__init__()
        self.net = Replicated(nn.Linear(2, 1).to(rank))

    def error(self):
        return self.net(self.rows).mean()


class Smoothed(nn.Module):
    """A loss that runs a backward pass of its own: it has no optimizer."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.scale = 3.0

    def forward(self, rows):
        noise = torch.zeros_like(rows).requires_grad_()
        self.net(rows + noise).mean().backward()
        self.last = self.net(rows + noise.grad).mean()
        return self.last


dist.init_process_group("nccl")
data = load()
loader = DataLoader(data, 8, sampler=DistributedSampler(data))
trainer = StepsItself().cuda()
trainer.train()
wrapping = WrapsItself(dist.get_rank())
smoothed = Smoothed(nn.Linear(2, 1))
for batch in loader:
    trainer.steps += 1
    trainer.set_input(batch)
    trainer.update()
    reveal_rank(trainer.loss)  # revealed: partial(mean)
    reveal_rank(trainer.steps)  # revealed: same
    reveal_rank(trainer(batch[0]))  # revealed: shard
    wrapping.set_input(batch)
    reveal_rank(wrapping.rows)  # revealed: shard
    reveal_rank(wrapping.error())  # revealed: partial(mean)
    reveal_rank(smoothed(batch[0]))  # revealed: shard
    reveal_rank(smoothed.last)  # revealed: same

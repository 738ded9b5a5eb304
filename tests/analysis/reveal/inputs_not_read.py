"""What the forward of a model never reads changes no output of it."""

import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator()


class Plain(nn.Module):
    def forward(self, rows, hint=None, *, other=None):
        return self.body(rows)


class Open(nn.Module):
    def forward(self, rows, hint=None, **options):
        return self.body(rows)


class Whole(nn.Module):
    def forward(self, rows, hint=None):
        return self.body(**locals())


class Stub(nn.Module):
    def forward(self, rows, hint=None):
        raise NotImplementedError


class Called(nn.Module):
    def __call__(self, rows, hint=None):
        return super().__call__(rows) + hint

    def forward(self, rows, hint=None):
        return self.body(rows)


def run(loader, batch):
    ones = torch.ones(2)
    loader = accelerator.prepare(loader)
    plain, opened, whole, stub, called = accelerator.prepare(Plain(), Open(), Whole(), Stub(), Called())
    for batch in loader:
        reveal_rank(plain(ones, batch))  # revealed: same
        reveal_rank(plain(ones, hint=batch))  # revealed: same
        reveal_rank(plain(ones, other=batch))  # revealed: same
        reveal_rank(plain.forward(ones, batch))  # revealed: same
        reveal_rank(plain(batch, ones))  # revealed: shard
        reveal_rank(plain(rows=batch))  # revealed: shard
        reveal_rank(plain(*batch))  # revealed: shard
        reveal_rank(opened(ones, batch))  # revealed: shard
        reveal_rank(whole(ones, batch))  # revealed: shard
        reveal_rank(stub(ones, batch))  # revealed: shard
        reveal_rank(called(ones, batch))  # revealed: shard

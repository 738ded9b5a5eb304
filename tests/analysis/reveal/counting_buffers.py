"""A buffer that a class only counts with is the same on all ranks; one that it changes in another way is unknown."""

import torch
from torch import nn


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("rows", tensor=torch.zeros(1))
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("seen", torch.tensor(0))
        self.register_buffer("filled", torch.tensor(0))
        self.register_buffer("passed", torch.tensor(0))

    def resume(self, batch):
        self.filled.fill_(batch["number"])

    def forward(self, batch):
        self.steps += 1
        self.rows += 8
        self.mean.lerp_(batch.mean(0), 0.1)
        self.seen += len(batch)
        count(self.passed, batch)
        print(f"{self.steps}")
        if self.steps > 3:
            print(self.rows.item())

    def show(self):
        reveal_rank(self.steps + 0)  # revealed: same
        reveal_rank(int(self.steps.item()))  # revealed: same
        reveal_rank(self.rows * 2)  # revealed: same
        reveal_rank(self.mean * 2)  # revealed: unknown
        reveal_rank(self.seen * 2)  # revealed: unknown
        reveal_rank(self.filled * 2)  # revealed: unknown
        reveal_rank(self.passed * 2)  # revealed: unknown


class SetFromOutside(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("turns", torch.tensor(0))

    def show(self):
        reveal_rank(self.turns * 2)  # revealed: unknown


def turn(model, number):
    model.turns = number

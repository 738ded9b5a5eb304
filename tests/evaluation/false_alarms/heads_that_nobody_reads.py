# A wrapped module without buffers, whose result nobody reads: its forward sends nothing, and no backward pass runs it.
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 8)
        self.activation = nn.ReLU()
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.activation(self.first(x)))


class NormalisedHead(Head):
    def __init__(self, width):
        super().__init__(width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return super().forward(self.norm(x))


def train_beside_unread(data, width):
    accelerator = Accelerator()
    model, head = Head(width), Head(width)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()])
    loader = DataLoader(data, batch_size=4)
    model, head, optimizer, loader = accelerator.prepare(model, head, optimizer, loader)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        if (y != 0).sum() > 0:
            head(x)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def train_beside_bound(data, width):
    accelerator = Accelerator()
    model, head = Head(width), Head(width)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()])
    loader = DataLoader(data, batch_size=4)
    model, head, optimizer, loader = accelerator.prepare(model, head, optimizer, loader)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        if (y != 0).sum() > 0:
            pred = head(x)  # noqa: F841
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def train_beside_read(data, width):
    accelerator = Accelerator()
    model, head = Head(width), Head(width)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()])
    loader = DataLoader(data, batch_size=4)
    model, head, optimizer, loader = accelerator.prepare(model, head, optimizer, loader)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        if (y != 0).sum() > 0:
            pred = head(x)  # expect: TRL006
            loss = loss + nn.functional.cross_entropy(pred, y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def train_beside_buffers(data, width):
    accelerator = Accelerator()
    model, head = Head(width), NormalisedHead(width)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()])
    loader = DataLoader(data, batch_size=4)
    model, head, optimizer, loader = accelerator.prepare(model, head, optimizer, loader)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        if (y != 0).sum() > 0:
            head(x)  # expect: TRL006
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

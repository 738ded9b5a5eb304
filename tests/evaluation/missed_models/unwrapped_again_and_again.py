"""Functions that take a model out of all its wrappers, and the method that a trainer then calls for its loss."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

    def loss(self, x):
        return self(x).mean()


class Holder(torch.nn.Module):
    """A model that has a `module` of its own."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def by_its_class(model):
    inner = getattr(model, "module", None)
    if isinstance(inner, torch.nn.Module):
        return by_its_class(inner)
    return model


def by_its_attribute(model):
    while hasattr(model, "module"):
        model = model.module
    return model


def train(batches):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(Net())
    held = DistributedDataParallel(Holder(Net()))
    for x in batches:
        by_its_class(net).loss(x).backward()  # expect: TRL009
    for x in batches:
        by_its_attribute(net).loss(x).backward()  # expect: TRL009
    for x in batches:
        net(x).mean().backward()
    for x in batches:
        held(x).mean().backward()
    if dist.get_rank() == 0:
        torch.save(by_its_class(net).state_dict(), "net.pt")
        torch.save(by_its_attribute(held).state_dict(), "held.pt")


train([])

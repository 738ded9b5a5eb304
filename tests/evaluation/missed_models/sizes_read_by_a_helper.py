"""The size of the job, read by a helper that has a default for where no launcher has set it."""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, rows):
        return self.layer(rows)


@dataclass
class Context:
    enabled: bool = False
    rank: int = 0
    size: int = 1

    def __post_init__(self):
        self.enabled = bool(self.enabled and self.size > 1)


def number_of(name, default):
    text = os.environ.get(name)
    if text in (None, ""):
        return default
    return int(text)


def number_or_none(name):
    text = os.environ.get(name)
    return None if text is None else int(text)


def number_if_written(name):
    text = os.environ.get(name, "")
    if text != "":
        return int(text)
    return 1


def prepared():
    size = number_of("WORLD_SIZE", 1)
    if size > 1:
        dist.init_process_group("nccl")
    return Context(enabled=size > 1, rank=number_of("RANK", 0), size=size)


def wrapped(model, context):
    if not context.enabled:
        return model
    return FSDP(model)


def saved_by_one():
    context = prepared()
    model = wrapped(Net().cuda(), context)
    if context.rank == 0:
        torch.save(model.state_dict(), "model.pt")  # expect: TRL016


def saved_by_all():
    context = prepared()
    model = wrapped(Net().cuda(), context)
    state = model.state_dict()
    if context.rank == 0:
        torch.save(state, "model.pt")


def read_of_a_wrapper():
    size = number_or_none("WORLD_SIZE")
    model = Net().cuda()
    if size is not None and size > 1:
        model = DDP(model)
    return model.layer  # expect: TRL002


def read_of_another_wrapper():
    model = Net().cuda()
    if number_if_written("WORLD_SIZE") > 1:
        model = DDP(model)
    return model.layer  # expect: TRL002


def read_where_there_is_none():
    model = Net().cuda()
    if number_if_written("WORLD_SIZE") == 1:
        return model.layer
    return DDP(model).module.layer


if __name__ == "__main__":
    saved_by_one()
    saved_by_all()
    read_of_a_wrapper()
    read_of_another_wrapper()
    read_where_there_is_none()

"""A step of rank 1 has a loss that is not a number and returns early, so it does not reach the next collective."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def mean(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()


def step(model, batch):
    if dist.get_rank() == 0:  # the result is the same
        print(batch.sum())
    loss = model(batch).sum()
    if torch.isnan(loss):  # parts
        return None  # goes: 1
    logged = mean(loss)  # goes: 0 2
    return loss, logged


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
batches = torch.ones(3, 2, 4)
if dist.get_rank() == 1:
    batches[1] = float("nan")
for batch in batches:
    step(model, batch)
dist.barrier()

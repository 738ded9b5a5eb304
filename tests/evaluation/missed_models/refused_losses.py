"""A loss that something unknown computes with a wrapped model, and that each rank tests before the backward pass."""

import math

import numpy as np
import torch
import torch.distributed as dist
from somewhere import compute, reduced, rows
from torch.nn.parallel import DistributedDataParallel


def one_by_one(net, optimizer):
    model = DistributedDataParallel(net)
    for batch in rows():
        losses = compute(model, batch)
        loss = sum(each for each in losses.values())
        if not math.isfinite(loss.item()):
            continue  # expect: TRL006
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def in_two_ways(net, scaler, mixed):
    model = DistributedDataParallel(net)
    for batch in rows():
        if mixed:
            with torch.autocast("cuda"):
                loss, parts = compute(model, batch)
        else:
            loss, parts = compute(model, batch, 2)
        if np.isnan(loss.item()):
            continue  # expect: TRL006
        scaler.scale(loss).backward()


def together(net):
    model = DistributedDataParallel(net)
    for batch in rows():
        loss = compute(model, batch)
        is_bad = torch.isnan(loss).float()
        dist.all_reduce(is_bad)
        if is_bad > 0:
            continue
        loss.backward()


def reduced_before(net):
    model = DistributedDataParallel(net)
    for batch in rows():
        loss = reduced(compute(model, batch))
        if torch.isnan(loss):
            continue
        loss.backward()


def of_another_model(net, other):
    model = DistributedDataParallel(net)
    print(model)
    for batch in rows():
        loss = compute(other, batch)
        if torch.isnan(loss):
            continue
        loss.backward()


def tested_afterwards(net, optimizer):
    model = DistributedDataParallel(net)
    for batch in rows():
        loss = compute(model, batch)
        loss.backward()
        if torch.isnan(loss):
            print("not a number")
            continue
        optimizer.step()

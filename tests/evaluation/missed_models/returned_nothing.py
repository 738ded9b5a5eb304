"""A function that returns no loss where this rank's own one is too large, so that the rank leaves a backward pass out."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def loss_of(model, batch):
    loss = model(batch).mean()
    if loss.item() > 2:
        print("too large")
        return None
    return loss


def left_out_where_there_is_none(net, rows):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for batch in loader:
        loss = loss_of(model, batch)
        if loss is None:
            continue  # expect: TRL006
        optimizer.zero_grad()
        loss.backward()


def agreed_loss_of(model, batch):
    loss = model(batch).mean()
    largest = loss.detach().clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if largest.item() > 2:
        return None
    return loss


def left_out_together(net, rows):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for batch in loader:
        loss = agreed_loss_of(model, batch)
        if loss is None:
            continue
        optimizer.zero_grad()
        loss.backward()


def zero_loss_of(model, batch):
    loss = model(batch).mean()
    if loss.item() > 2:
        return loss * 0
    return loss


def never_left_out(net, rows):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for batch in loader:
        loss = zero_loss_of(model, batch)
        if loss is None:
            continue
        optimizer.zero_grad()
        loss.backward()

# The lowest loss and how long it has been the lowest are chosen at once: ranks that share the loss stop together.

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def loss_of(net, loader):
    total = torch.zeros(())
    with torch.no_grad():
        for rows in loader:
            total += net(rows).square().sum()
    return total


def waits_for_own(net, rows, optimizer):
    wrapped = DistributedDataParallel(net)
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows, shuffle=False))
    lowest, waited = float("inf"), 0
    for _ in range(100):
        for batch in loader:
            wrapped(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        loss = loss_of(net, loader)
        lowest, waited = (loss, 0) if loss < lowest else (lowest, waited + 1)
        if waited >= 3:
            break  # expect: TRL006


def waits_for_all(net, rows, optimizer):
    wrapped = DistributedDataParallel(net)
    loader = DataLoader(rows, 8, sampler=DistributedSampler(rows, shuffle=False))
    lowest, waited = float("inf"), 0
    for _ in range(100):
        for batch in loader:
            wrapped(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        loss = loss_of(net, loader)
        dist.all_reduce(loss)
        lowest, waited = (loss, 0) if loss < lowest else (lowest, waited + 1)
        if waited >= 3:
            break


if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = torch.nn.Linear(8, 8)
    waits_for_own(model, torch.load("rows.pt"), torch.optim.SGD(model.parameters(), 0.1))
    waits_for_all(model, torch.load("rows.pt"), torch.optim.SGD(model.parameters(), 0.1))

# Reduction of gradients that is off for a step which is reduced in another way.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def reduced_by_hand(loader):
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model.require_backward_grad_sync = False
        model(x).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        optimizer.step()


def by_something_unknown(loader, reducer):
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model.require_backward_grad_sync = False
        model(x).sum().backward()
        reducer(model)
        optimizer.step()


def in_each_turn(loader, accumulate, compile):
    """What leaves before both leaves with all ranks; the inside of the wrapper is what is stepped."""
    number = torch.load("last.pt")["number"]
    model = DDP(torch.nn.Linear(2, 2))
    raw = model.module
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.1)
    while True:
        if number == 0 and compile:
            break
        for micro in range(accumulate):
            model.require_backward_grad_sync = micro == accumulate - 1
            model(next(loader)).sum().backward()
        optimizer.step()
        number += 1


def in_one_turn(loader):
    """The first turn is the last one, too."""
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        for micro in range(1):
            model.require_backward_grad_sync = micro == 0
            model(x).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    reduced_by_hand([])
    by_something_unknown([], print)
    in_each_turn(iter([]), 4, False)
    in_one_turn([])

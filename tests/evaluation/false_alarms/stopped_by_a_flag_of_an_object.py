# A flag that a method sets on one way only keeps on the others what it had: what follows `if stopping(score): break` is
# run, and the ranks leave at different times if the score is their own.

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Stopping:
    def __init__(self, patience):
        self.patience = patience
        self.best = None
        self.count = 0
        self.stops = False

    def __call__(self, score):
        if self.best is None or score < self.best:
            self.best, self.count = score, 0
        else:
            self.count += 1
        if self.count >= self.patience:
            self.stops = True
        return self.stops


class Guard:
    def __init__(self):
        self.fails = False

    def look_at(self, net, loader):
        for x, y in loader:
            if (net.module(x.cuda()) - y.cuda()).abs().sum().item() > 9:
                self.fails = True
                break
        return self.fails


def evaluate(net, loader):
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += (net.module(x.cuda()) - y.cuda()).abs().sum().item()
            count += len(x)
    return total / count


def reduced(value):
    value = torch.tensor(value, device="cuda")
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def left_alone(net, loader):
    stopping = Stopping(3)
    for _ in range(10):
        if stopping(evaluate(net, loader)):
            break  # expect: TRL006
        dist.barrier()


def left_together(net, loader):
    stopping = Stopping(3)
    for _ in range(10):
        if stopping(reduced(evaluate(net, loader))):
            break
        dist.barrier()


def awaited_by_one(net, loader):
    stopping = Stopping(3)
    for _ in range(10):
        if stopping(reduced(evaluate(net, loader))):
            break
        if dist.get_rank() == 0:
            dist.barrier()  # expect: TRL006


def left_if_it_fails(net, loader):
    if Guard().look_at(net, loader):
        return  # expect: TRL006
    dist.barrier()


def main(data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    left_alone(net, loader)
    left_together(net, loader)
    awaited_by_one(net, loader)
    left_if_it_fails(net, loader)


main(torch.load("data.pt"))

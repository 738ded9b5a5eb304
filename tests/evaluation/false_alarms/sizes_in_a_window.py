# The sizes of the batches in a window are the same on all ranks, as are those that are added one by one.
from collections import deque

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Meter:
    def __init__(self, size):
        self.seen = deque(maxlen=size)
        self.average = 0.0

    def update(self, value, rows):
        self.seen.append((value, rows))
        self.average = sum([one * rows for one, rows in self.seen]) / sum([rows for _, rows in self.seen])


def mean_of(average):
    mean = torch.tensor(average).cuda()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


def train(net, loader, criterion):
    model = DistributedDataParallel(net)
    losses = Meter(100)
    for batch in loader:
        loss = criterion(model(batch["x"]))
        losses.update(loss.item(), batch["x"].size(0))
        loss.backward()
    print(mean_of(losses.average))


def train_on_tokens(net, loader, criterion):
    model = DistributedDataParallel(net)
    totals, counts = [], []
    for batch in loader:
        loss = criterion(model(batch["x"]))
        totals.append((loss * batch["mask"]).sum().item())
        counts.append(batch["mask"].sum().item())
        loss.mean().backward()
    mean = torch.tensor(sum(totals) / sum(counts)).cuda()
    dist.all_reduce(mean)
    print(mean / dist.get_world_size())  # expect: TRL007


def main(net, data, criterion):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    train(net, loader, criterion)
    train_on_tokens(net, loader, criterion)

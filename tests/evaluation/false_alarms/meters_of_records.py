# Two records, each with a meter that its constructor creates: the meter of one is not that of the other.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Meter:
    def __init__(self):
        self.avg = 0.0
        self.count = 0

    def update(self, value):
        self.count += 1
        self.avg += (value - self.avg) / self.count


class Record:
    def __init__(self):
        self.loss = Meter()

    def update(self, value):
        self.loss.update(value)


def train(model, loader):
    record = Record()
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        record.update(loss.item())
    return record


def validate(model, batch):
    record = Record()
    loss = model(batch).sum()
    dist.all_reduce(loss)
    record.update(loss.item())
    return record


def main(data, batch):
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    best = best_loss = 1000.0
    for _ in range(10):
        trained, validated = train(model, loader), validate(model, batch)
        if validated.loss.avg < best:
            best = validated.loss.avg
            dist.barrier()
        if trained.loss.avg < best_loss:
            best_loss = trained.loss.avg
            dist.barrier()  # expect: TRL006

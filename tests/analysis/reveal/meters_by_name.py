"""Meters that a defaultdict creates by name: each has values of its own, and what is read of them follows the calls."""

from collections import defaultdict

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from somewhere import build, options


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value, rows=1):
        self.total += value * rows
        self.count += rows

    def reduce(self):
        if not dist.is_initialized():
            return
        both = torch.tensor([self.total, self.count], device="cuda")
        dist.all_reduce(both)
        self.total, self.count = both.tolist()

    @property
    def mean(self):
        return self.total / max(self.count, 1)


class Meters:
    def __init__(self):
        self.by_name = defaultdict(Meter)

    def add(self, **values):
        for name, value in values.items():
            self.by_name[name].add(value)

    def reduce(self):
        for meter in self.by_name.values():
            meter.reduce()

    def means(self):
        return {name: meter.mean for name, meter in self.by_name.items()}


def train(model, loader, optimizer):
    meters = Meters()
    for batch in loader:
        loss = model(batch["x"]).loss
        loss.backward()
        meters.add(loss=loss.item())
        meters.add(lr=optimizer.param_groups[0]["lr"])
        print(meters.means())
    reveal_rank(meters.by_name["loss"].mean)  # revealed: local(data)
    reveal_rank(meters.by_name["lr"].mean)  # revealed: same
    meters.reduce()
    # Reduced, or not yet: the property is read again after each change.
    reveal_rank(meters.by_name["loss"].mean)  # revealed: unknown
    return meters.means()


def evaluate(model, loader):
    meters = defaultdict(Meter)
    for batch in loader:
        output = model(batch["x"])
        meters["loss"].add(output.loss.item(), len(batch["x"]))
    reveal_rank(meters["loss"].mean)  # revealed: local(data)
    return {f"eval_{name}": meter.mean for name, meter in meters.items()}


def read_often(model, loader):
    meter = Meter()
    print(meter.mean)
    for batch in loader:
        meter.add(model(batch["x"]).loss.item())
        print(meter.mean)
    reveal_rank(meter.mean)  # revealed: local(data)
    meter.reduce()
    reveal_rank(meter.mean)  # revealed: unknown


def main():
    dist.init_process_group("nccl")
    model = DistributedDataParallel(build(options).cuda())
    rows = build(options.data)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    optimizer = torch.optim.SGD(model.parameters())
    reveal_rank(train(model, loader, optimizer)["loss"])  # revealed: unknown
    reveal_rank(evaluate(model, loader)["eval_loss"])  # revealed: local(data)
    read_often(model, loader)


main()

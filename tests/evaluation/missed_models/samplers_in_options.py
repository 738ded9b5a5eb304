import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def loader_of(rows, distributed):
    options = {"batch_size": 8}
    options["sampler"] = sampler = DistributedSampler(rows) if distributed else None
    options["shuffle"] = sampler is None
    return DataLoader(rows, **options)


def displayed(rows):
    options = dict(batch_size=8, sampler=DistributedSampler(rows))
    return DataLoader(rows, **options, **{"drop_last": True})


def in_order(rows):
    options = {"batch_size": 8, "sampler": DistributedSampler(rows, shuffle=False)}
    return DataLoader(rows, **options)


def other_samplers(rows):
    options = {"batch_size": 8, "sampler": DistributedSampler(rows)}
    options["sampler"] = sampler_of_other_library(rows)
    tests = {"batch_size": 8, "sampler": DistributedSampler(rows, shuffle=False)}
    return DataLoader(rows, **options), DataLoader(rows, **tests)


def train(model, optimizer, rows, distributed):
    loader = loader_of(rows, distributed)
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    loader = displayed(rows)
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    loader = in_order(rows)
    for _ in range(10):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
    loader, tests = other_samplers(rows)
    for _ in range(10):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()
        for batch in tests:
            model(batch).sum().backward()
            optimizer.step()


def main(rows, distributed):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(2, 2).cuda())
    train(model, torch.optim.SGD(model.parameters()), rows, distributed)

# A helper that makes loaders is passed the sampler: its caller has made one that shuffles, and tells it no epoch.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def load(rows, sampler, workers=4):
    return DataLoader(rows, batch_size=8, sampler=sampler, num_workers=workers)


def load_in_order(rows, sampler):
    return DataLoader(rows, batch_size=8, sampler=sampler)


def load_otherwise(rows, sampler):
    sampler = torch.utils.data.SequentialSampler(rows)
    return DataLoader(rows, batch_size=8, sampler=sampler)


def step(model, batch, optimizer):
    model(batch).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def evaluate(model, loader):
    for batch in loader:
        model(batch)


def main(rows, others, net, optimizer):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net.cuda())
    sampler = DistributedSampler(rows)
    sampler_of_others = DistributedSampler(others, shuffle=False)
    loader = load(rows, sampler)
    loader_of_others = load(others, sampler=sampler_of_others)
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            step(model, batch, optimizer)
        evaluate(model, loader_of_others)
    in_order = load_in_order(rows, DistributedSampler(rows, shuffle=False))
    for _ in range(10):
        for batch in in_order:
            step(model, batch, optimizer)
    other = load_otherwise(rows, sampler)
    for _ in range(10):
        for batch in other:
            step(model, batch, optimizer)


def in_a_function_inside(rows, net, optimizer, shuffles):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net.cuda())

    def loaded(sampler, **options):
        return DataLoader(rows, batch_size=8, sampler=sampler, **options)

    def loaded_as_asked(sampler, **options):
        return DataLoader(rows, batch_size=8, sampler=sampler, **options)

    sampler = DistributedSampler(rows)
    loader = loaded(sampler, drop_last=True)
    for _ in range(10):  # expect: TRL019
        for batch in loader:
            step(model, batch, optimizer)
    loader = loaded_as_asked(DistributedSampler(rows, shuffle=shuffles), drop_last=True)
    for _ in range(10):
        for batch in loader:
            step(model, batch, optimizer)

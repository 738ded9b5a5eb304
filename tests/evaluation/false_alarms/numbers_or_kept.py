# Metrics are reduced one by one where they are numbers, and kept as they are where they are none.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def reduced(metrics, world_size, device):
    if not dist.is_initialized():
        return metrics
    means = {}
    for name, value in metrics.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            means[name] = value
            continue
        total = torch.tensor(number, device=device)
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        means[name] = (total / world_size).item()
    return means


def reduced_if_integer(metrics, world_size, device):
    means = {}
    for name, value in metrics.items():
        try:
            number = int(value)  # fails on a rank on which it is infinite
        except (OverflowError, ValueError):
            means[name] = value
            continue  # expect: TRL006
        total = torch.tensor(number, device=device)
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        means[name] = (total / world_size).item()
    return means


def as_number(value, otherwise):
    try:
        return float(value)
    except TypeError:
        return otherwise


def validate(model, loader):
    losses = [model(batch).mean().item() for batch in loader]
    return {"loss": sum(losses) / len(losses), "largest": max(losses)}


def main(rows, model, device):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    best = best_largest = best_own = float("inf")
    for _ in range(10):
        found = validate(model, loader)
        means = reduced(found, dist.get_world_size(), device)
        if means["loss"] < best:
            best = means["loss"]
            dist.barrier()
        largest = as_number(reduced_if_integer(found, dist.get_world_size(), device)["largest"], 0)
        if largest < best_largest:
            best_largest = largest
            dist.barrier()  # expect: TRL006
        own = as_number(found["loss"], 0)
        if own < best_own:
            best_own = own
            dist.barrier()  # expect: TRL006

"""A call that swaps its arguments: no network has what is read of it, so that the read fails on one process as well."""

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.width = 2

    def forward(self, rows):
        return self.layer(rows)


class Delegating(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        return getattr(super().__getattr__("inner"), name)


class Named(nn.Module):
    def __init__(self, **values):
        super().__init__()
        for name, value in values.items():
            setattr(self, name, value)


class Told(nn.Module):
    def forward(self, rows):
        return rows


def evaluate(args, model, rows):
    rows = rows.clamp(max=args.limit)
    return rows + args.width  # expect: TRL002


def evaluate_others(args, rows):
    return rows.clamp(max=args.ceiling)  # expect: TRL002


def tell(net, ceiling):
    net.ceiling = ceiling
    return net


def main(args, rows, device):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Net().to(device), device_ids=[device])
    evaluate(model, args, rows)
    told = DistributedDataParallel(tell(Told(), 2).to(device), device_ids=[device])
    evaluate_others(told, rows)
    delegating = DistributedDataParallel(Delegating(Net()).to(device), device_ids=[device])
    named = DistributedDataParallel(Named(floor=1).to(device), device_ids=[device])
    print(delegating.height)  # expect: TRL002
    print(named.floor)  # expect: TRL002

# Boilerplate of an optimizer's factory: only a part of one of the models has what it asks for.
import torch
import torch.distributed as dist
from torch import nn


class Encoder(nn.Module):
    def forward(self, x):
        return x

    def no_weight_decay(self):
        return {"positions"}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        return self.encoder(x)


class WithOwn(Net):
    def no_weight_decay(self):
        return self.encoder.no_weight_decay()


def decayed(model):
    skipped = set()
    if hasattr(model, "no_weight_decay"):
        skipped = model.no_weight_decay()
    return [value for name, value in model.named_parameters() if name not in skipped]


def decayed_of_own(model):
    skipped = set()
    if hasattr(model, "no_weight_decay"):  # expect: TRL002
        skipped = model.no_weight_decay()
    return [value for name, value in model.named_parameters() if name not in skipped]


def main(device):
    dist.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(Net().to(device), device_ids=[device])
    other = nn.parallel.DistributedDataParallel(WithOwn().to(device), device_ids=[device])
    return torch.optim.AdamW(decayed(model)), torch.optim.AdamW(decayed_of_own(other))

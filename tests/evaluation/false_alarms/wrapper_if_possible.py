# A model is wrapped if there is a group; the error where there is none is caught: that does not show several processes.
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(rank):
    model = nn.Linear(2, 2)
    try:
        model = DistributedDataParallel(model, device_ids=[rank])
    except Exception:
        print("one GPU only")
    return model


def export(rank):
    model = build(rank)
    torch.save(model.state_dict(), "weights.pt")


def build_or_end(rank):
    model = nn.Linear(2, 2)
    try:
        model = DistributedDataParallel(model, device_ids=[rank])
    except Exception:
        print("no group")
        raise
    return model


def train(rank):
    model = build_or_end(rank)
    torch.save(model.state_dict(), "model.pt")  # expect: TRL008

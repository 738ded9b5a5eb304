# What a program sets on a wrapper, the functions and constructors that it passes the wrapper to may read.
import os

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Loss:
    def __init__(self, model):
        self.gain = model.gains["box"]
        self.names = model.names  # expect: TRL002


class Late:
    def __init__(self, model):
        self.gain = model.late_gains["box"]  # expect: TRL002


class Bare:
    def __init__(self, model):
        self.gain = model.bare_gains["box"]  # expect: TRL002


def wrapped(model, rank):
    return DistributedDataParallel(model, device_ids=[rank])


def train(net, loader, gains):
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    model = net.cuda()
    model.names = loader.dataset.names
    if rank != -1:
        model = wrapped(model, rank)
    model.gains = gains
    if rank != -1:
        model.module.bare_gains = gains
    else:
        model.bare_gains = gains
    parts = Loss(model), Late(model), Bare(model)
    model.late_gains = gains
    for x in loader:
        (parts[0].gain * model(x)).sum().backward()


if __name__ == "__main__":
    from data import gains, loader, net

    train(net, loader, gains)

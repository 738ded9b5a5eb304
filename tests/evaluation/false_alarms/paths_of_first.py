# The first rank says which path all ranks take: it leaves, or goes on, where they do.
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(settings):
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    model(settings).sum().backward()


def read(text):
    return None if text == "" else text


def told_first(text):
    if dist.get_rank() == 0:
        settings = read(text)
        if settings is None:
            dist.broadcast_object_list([None, None])
            return
        dist.broadcast_object_list([settings, text])
        train(settings)
    else:
        given = [None, None]
        dist.broadcast_object_list(given)
        settings, name = given
        if settings is None or name is None:
            return
        train(settings)


def alone(text):
    if dist.get_rank() == 0:
        settings = read(text)
        dist.broadcast_object_list([settings, text])
        if settings is None:
            return
        train(settings)  # expect: TRL006
    else:
        given = [None, None]
        dist.broadcast_object_list(given)
        settings, name = given
        if settings is None or name is None:
            return
        print(settings)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    if sys.argv[1] == "told":
        told_first(sys.argv[2])
    else:
        alone(sys.argv[2])

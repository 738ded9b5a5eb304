"""The rank is an entry of a dict of attributes, kept in a global name of the module, and read in a function."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Node(dict):
    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)


def read():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--every", type=int, default=1)
    parsed = parser.parse_args()
    return Node({"local_rank": parsed.local_rank, "every": parsed.every})


def is_chief():
    return args.local_rank == 0


def main():
    global args
    args = read()
    dist.init_process_group("nccl")
    torch.cuda.set_device(args.local_rank)
    model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
    for epoch in range(9):
        if epoch % args.every == 0 and is_chief():
            torch.save(model.module.state_dict(), "epoch.pt")
    if is_chief():
        torch.save(model.module.state_dict(), "last.pt")
    torch.save(model.module.state_dict(), "all.pt")  # expect: TRL008


main()

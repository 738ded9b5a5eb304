# A block that refuses several processes in its last line may use the model as one process does.
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)

    def features(self, x):
        return x


def wrapped(net, args):
    if args.distributed:
        net = DistributedDataParallel(net)
    return net


def work(args, rows):
    if args.distributed:
        dist.init_process_group("nccl")
    net = wrapped(Net(), args)
    if args.cached:
        features = net.features(rows)
        if args.distributed:
            raise NotImplementedError("one process only")
        print(features)
    if args.shown:
        print(net.features(rows))  # expect: TRL002
    net(rows).sum().backward()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", type=int, default=1)
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--shown", action="store_true")
    args = parser.parse_args()
    args.distributed = args.world_size > 1
    work(args, torch.ones(2, 2))


if __name__ == "__main__":
    main()

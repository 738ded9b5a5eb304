# A model that DDP wraps if the job has several processes: on one rank alone, its forward waits for the others.
import os

import torch
from torch import nn
from torch.nn.parallel import DataParallel
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def forward(self, x):
        return x


def traced(args, batch, cuda, writer):
    rank = int(os.environ.get("RANK", -1))
    model = Net()
    if args.sync_norms and cuda and rank != -1:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model).to("cuda")
    if cuda and rank != -1:
        model = DDP(model)
    if rank in (-1, 0):
        print(rank)
        if writer:
            writer.add_graph(torch.jit.trace(model, batch), [])  # expect: TRL006
    if rank in (-1, 0) and not cuda:
        torch.jit.trace(model, batch)


def run(args, batch):
    rank = int(os.environ["RANK"])
    model = Net()
    if args.distributed:
        model = DDP(model)
    if rank == 0:
        model(batch)  # expect: TRL006
    if rank == 0:
        model.module(batch)
    if rank == 0 and not args.distributed:
        model(batch)


def over_gpus(args, batch):
    rank = int(os.environ["RANK"])
    model = Net()
    if args.several:
        model = DataParallel(model)
    if rank == 0:
        model(batch)

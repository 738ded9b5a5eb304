"""A setting that a function sets where it starts the group, and clears where there is none: true on several processes."""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

from somewhere import build


def init_distributed(args):
    if "RANK" in os.environ:
        args.rank = int(os.environ["RANK"])
    else:
        args.distributed = False
        args.several_loaders = False
        return
    args.distributed = True
    if args.fast:
        args.several_ranks = True
    dist.init_process_group("nccl")


def loader_of(rows, sampler):
    return DataLoader(rows, batch_size=8, sampler=sampler)


def main(args):
    init_distributed(args)
    rows = build(args)
    model = build(args)
    if args.distributed:
        model = DistributedDataParallel(model)
        sampler = DistributedSampler(rows)
    else:
        sampler = SequentialSampler(rows)
    for batch in loader_of(rows, sampler):
        reveal_rank(model(batch["x"]).loss.item())  # revealed: local(data)
    # These are not set on the way to the start, or not cleared elsewhere.
    share = rows[dist.get_rank() :: 2] if args.several_ranks else rows
    for batch in loader_of(share, None):
        reveal_rank(batch["x"])  # revealed: unknown
    share = rows[dist.get_rank() :: 2] if args.several_loaders else rows
    for batch in loader_of(share, None):
        reveal_rank(batch["x"])  # revealed: unknown


main(argparse.ArgumentParser().parse_args())

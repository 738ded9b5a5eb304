"""What sets fields of the options: of those that it makes, and of those that it is given."""

import argparse
import os

import torch.distributed as dist
from somewhere import load


def parsed():
    args = argparse.ArgumentParser().parse_args()
    args.rank = int(os.environ["RANK"])
    args.out = os.path.join(args.root, args.name)
    return args


def start(options):
    dist.init_process_group("nccl")
    options.number = dist.get_rank()
    options.is_first = options.number == 0
    options.seed = options.seed + options.number


def replaced(options):
    options = load(options.path)
    options.part = dist.get_rank()


def counted(options):
    options.number = load(options.path)


def told(options):
    if options.number == 0:
        options.log = True
    else:
        options.log = False
    options.late = False
    if options.number == 0:
        options.late = True


def told_some(options):
    if options.number == 0:
        options.shown = True


def told_alike(options):
    if options.number == 0:
        options.plain = True
    else:
        options.plain = True

import argparse

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def read_options():
    return argparse.ArgumentParser().parse_args()


def make_loader(options, rows):
    sampler = None
    if options.distributed:
        sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=8, sampler=sampler)

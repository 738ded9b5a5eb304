# A program that switches `distributed` off after it has read its options makes loaders without a sampler.
import argparse

import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def make_loader(options, rows):
    sampler = None
    if options.distributed:
        sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=8, sampler=sampler)


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    options = parser.parse_args()
    return options


def share_right(loader):
    right = seen = 0
    for guess, answer in loader:
        right += (guess == answer).sum().item()
        seen += len(answer)
    return right / seen


def measure():
    rows = torch.load("rows.pt")
    options = read_options()
    options.distributed = False
    right = share_right(make_loader(options, rows))
    SummaryWriter("runs").add_scalar("right", right, 0)


def measure_if_asked():
    rows = torch.load("rows.pt")
    options = read_options()
    if rows.few:
        options.distributed = False
    right = share_right(make_loader(options, rows))
    SummaryWriter("runs").add_scalar("right", right, 0)  # expect: TRL003

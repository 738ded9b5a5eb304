"""The flag is only a default, as an imported function sets it."""

import torch
from loaders import make_loader, read_options
from starts import set_up


def main():
    options = read_options()
    options.distributed = False
    set_up(options)
    for rows in make_loader(options, torch.load("rows.pt")):
        reveal_rank(rows)  # revealed: shard

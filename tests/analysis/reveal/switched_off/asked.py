"""The flag may also be off only for some runs."""

import torch
from loaders import make_loader, read_options


def main():
    options = read_options()
    if options.debug:
        options.distributed = False
    for rows in make_loader(options, torch.load("rows.pt")):
        reveal_rank(rows)  # revealed: shard

"""A program that switches `distributed` off: its loader has no sampler, also if another program has one."""

import torch
from loaders import make_loader, read_options

if __name__ == "__main__":
    options = read_options()
    options.distributed = False
    for rows in make_loader(options, torch.load("rows.pt")):
        reveal_rank(rows)  # revealed: unknown

"""Rank 1 calls `sys.exit` with its argument while rank 0 waits for it."""

import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    sys.exit({"0": 0, "3": 3}.get(sys.argv[1], sys.argv[1]))  # cause
dist.all_reduce(torch.ones(1))  # waits: 0

"""Rank 1 calls `sys.exit` with its argument while rank 0 waits for it."""

import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    time.sleep(2)  # on a busy machine, rank 0 may still be in `init_process_group`, which would fail there
    sys.exit({"0": 0, "3": 3}.get(sys.argv[1], sys.argv[1]))  # cause
dist.all_reduce(torch.ones(1))  # waits: 0

"""Rank 1 raises, and its exit takes longer than rank 0 is willing to wait."""

import atexit
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    atexit.register(time.sleep, 60)
    raise ValueError("no rows are left")  # cause
dist.all_reduce(torch.ones(1))

"""Rank 1 raises while rank 0 waits for it."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise ValueError("no rows are left")  # cause
dist.all_reduce(torch.ones(1))

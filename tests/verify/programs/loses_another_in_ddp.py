"""Rank 1 raises before its backward pass; DDP has already started to reduce rank 0's gradients."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
dist.barrier()
model = DistributedDataParallel(torch.nn.Linear(4, 1))
for step in range(2):
    loss = model(torch.ones(2, 4)).sum()
    if dist.get_rank() == 1 and step == 1:
        raise ValueError("no rows are left")  # cause
    loss.backward()

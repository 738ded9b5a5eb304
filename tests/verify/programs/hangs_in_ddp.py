"""Rank 1 skips a backward pass, in which rank 0 waits for its gradients."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
loss = model(torch.ones(2, 4)).sum()
if dist.get_rank() == 0:  # parts
    loss.backward()  # waits: 0
dist.barrier()  # waits: 1

"""Rank 1 has one batch fewer, so rank 0 waits in vain for its gradients."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
for _ in range(3 - dist.get_rank()):  # parts
    model(torch.ones(2, 4)).sum().backward()  # waits: 0

"""Gradients that are not reduced: DDP is bypassed, or not used at all."""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
if sys.argv[1] == "with DDP":
    model = DistributedDataParallel(model).module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.full((2, 4), 1.0 + dist.get_rank())).sum().backward()
optimizer.step()
dist.barrier()

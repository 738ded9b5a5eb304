"""Each rank updates its part of the weights that DDP keeps the same, and sends it to the others.

With `zero`, torch's own optimizer does so: its step has that of another optimizer in it.
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)))
weights = list(model.parameters())
if "zero" in sys.argv:
    optimizer = ZeroRedundancyOptimizer(weights, torch.optim.SGD, lr=0.1)
else:
    optimizer = torch.optim.SGD(weights[rank::size], lr=0.1)
for step in range(2):
    model(torch.full((2, 4), 1.0 + rank + size * step)).sum().backward()
    optimizer.step()
    if "zero" not in sys.argv:
        for number, each in enumerate(weights):
            dist.broadcast(each.data, number % size)
    model.zero_grad()

"""The ranks wait in different collectives."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.broadcast(torch.ones(1), src=1)  # waits: 0
else:
    dist.all_reduce(torch.ones(1))  # waits: 1

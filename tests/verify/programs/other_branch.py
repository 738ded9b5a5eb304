"""Only rank 0 takes the branch with a collective in it, so the ranks' next ones don't match."""

import torch
import torch.distributed as dist


def log(value):
    dist.all_reduce(value)  # waits: 0


dist.init_process_group("gloo")
if dist.get_rank() == 0:  # parts
    log(torch.ones(1))
dist.barrier()  # waits: 1

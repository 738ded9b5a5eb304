"""The ranks run the same two collectives in different orders."""

import torch
import torch.distributed as dist


def reduce():
    dist.all_reduce(torch.ones(1))  # waits: 0


def share():
    dist.broadcast(torch.ones(1), src=0)  # waits: 1


dist.init_process_group("gloo")
dist.barrier()
for step in (reduce, share) if dist.get_rank() == 0 else (share, reduce):
    step()  # parts

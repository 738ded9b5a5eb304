"""Rank 1 gives up a server of its own; its words are those of a rank that gives up a collective."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise TimeoutError("the reward server timed out after 5 s")  # cause
dist.all_reduce(torch.ones(1))

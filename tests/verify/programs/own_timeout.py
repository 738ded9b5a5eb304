"""Rank 1 gives up on a server of its own; the message is the same as for a collective that is given up."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise TimeoutError("the reward server timed out after 5 s")  # cause
dist.all_reduce(torch.ones(1))

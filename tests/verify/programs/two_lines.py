"""Rank 0 broadcasts at one line what the others receive at another line: right code."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.broadcast(torch.ones(1), src=0)
else:
    dist.broadcast(torch.zeros(1), src=0)
names = ["a"] if dist.get_rank() == 0 else [None]
dist.broadcast_object_list(names, src=0)
shares = [None] * dist.get_world_size()
dist.all_gather_object(shares, list(range(dist.get_rank())))
assert names == ["a"]

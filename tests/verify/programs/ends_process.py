"""Rank 1 ends its process in the middle of the script, with status 0."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
# On a busy machine rank 0 may still be creating its group: rank 1 ends only once rank 0 has finished that.
store = dist.distributed_c10d._get_default_store()
if dist.get_rank() == 1:  # parts
    store.wait(["rank 0 is set up"])
    os._exit(0)
store.set("rank 0 is set up", "")
dist.all_reduce(torch.ones(1))  # waits: 0

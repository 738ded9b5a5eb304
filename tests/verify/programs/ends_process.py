"""Rank 1 ends its process in the middle of the script, with status 0."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    os._exit(0)
dist.all_reduce(torch.ones(1))  # waits: 0

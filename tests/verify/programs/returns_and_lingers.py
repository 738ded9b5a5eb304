"""Rank 1 has one batch fewer than rank 0, and its process stays for longer than rank 0 is willing to wait."""

import atexit
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for _ in range(3 - dist.get_rank()):
    dist.all_reduce(torch.ones(1))  # waits: 0
if dist.get_rank() == 1:
    atexit.register(time.sleep, 60)

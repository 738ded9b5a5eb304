"""Rank 1 never reaches the collective that rank 0 waits in."""

import time

import torch
import torch.distributed as dist


def load_rows():
    time.sleep(600)  # waits: 1


dist.init_process_group("gloo")
if dist.get_rank() == 1:
    load_rows()
dist.all_reduce(torch.ones(1))  # waits: 0

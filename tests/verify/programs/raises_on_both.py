"""All ranks raise the same; none is stopped before that."""

import atexit
import time

import torch
import torch.distributed as dist


def share(rows):
    return 1 / len(rows)  # cause


dist.init_process_group("gloo")
atexit.register(time.sleep, 1)
dist.all_reduce(torch.ones(1))
share([])

"""Rank 1 never reaches the collective that rank 0 waits in. BACKEND: its group's."""

import os
import sys
import time

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group(sys.argv[1])
value = torch.ones(1, device="cuda")
dist.all_reduce(value)
if dist.get_rank() == 1:
    time.sleep(600)  # waits: 1
dist.all_reduce(value)  # waits: 0

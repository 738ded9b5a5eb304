"""Rank 1 does not join the group, and sleeps."""

import os
import time

import torch.distributed as dist

if os.environ["RANK"] == "1":
    time.sleep(600)  # waits: 1
dist.init_process_group("gloo")  # waits: 0

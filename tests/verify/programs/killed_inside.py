"""Rank 1 is killed while it waits for rank 0."""

import os
import signal
import threading
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGKILL)).start()
else:
    time.sleep(2)
dist.all_reduce(torch.ones(1))  # cause

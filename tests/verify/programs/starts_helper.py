"""Each rank has started another process when rank 1 stops for good."""

import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
helper = subprocess.Popen(["sleep", "600"])
Path(sys.argv[1], f"helper{dist.get_rank()}").write_text(str(helper.pid))
dist.barrier()
if dist.get_rank() == 1:
    time.sleep(600)  # waits: 1
try:
    dist.all_reduce(torch.ones(1))  # waits: 0
finally:
    helper.kill()

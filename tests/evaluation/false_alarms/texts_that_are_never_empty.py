"""A path, and a text with a part that is written out, is true on each rank, whatever else is in it."""

import os
import socket
from datetime import datetime
from pathlib import Path

import torch.distributed as dist


def wait_with(folder=None):
    if folder:
        dist.barrier()


def main():
    dist.init_process_group("nccl")
    name = datetime.now().strftime("%Y%m%d-%H%M%S")
    path = os.path.join("out", name)
    if path:
        dist.barrier()
    wait_with(os.path.join("out", socket.gethostname()))
    if f"run of {socket.gethostname()}":
        dist.barrier()
    if Path(socket.gethostname()):
        dist.barrier()
    if not path:
        return
    dist.barrier()


def alone():
    folder = None
    if dist.get_rank() == 0:
        folder = os.path.join("out", datetime.now().strftime("%Y%m%d-%H%M%S"))
    if folder:
        dist.barrier()  # expect: TRL006


def alone_by_choice():
    folder = Path("out", socket.gethostname()) if dist.get_rank() == 0 else None
    if folder:
        dist.barrier()  # expect: TRL006


def with_nothing_known():
    name = os.path.join("", datetime.now().strftime("%p"))  # empty in some locales
    if name:
        dist.barrier()  # expect: TRL006


main()
alone()
alone_by_choice()
with_nothing_known()

"""Rank 0 prepares what all ranks use, and the others wait for it in the barrier that it reaches at the end."""

import sys
import time

import torch
import torch.distributed as dist


def prepare(how, seconds):
    """Work on one rank, for longer than any time-out of a collective."""
    if how == "sleeps":
        time.sleep(seconds)
    end = time.process_time() + seconds
    while how == "computes" and time.process_time() < end:
        sum(range(10_000))


def main(how="computes", seconds="2"):
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        prepare(how, float(seconds))  # prepares
    dist.barrier()  # waits: 1
    dist.all_reduce(torch.ones(1))


main(*sys.argv[1:])

"""Whether a launcher has set the rank is the same on all ranks, however it is asked; what it is differs."""

import os

import torch
import torch.distributed as dist


def total():
    ones = torch.ones(1, device="cuda")
    dist.all_reduce(ones)
    return ones


def of_an_empty_text():
    rank = os.environ.get("RANK", "")
    if rank == "":
        return None
    return total()


def of_nothing():
    rank = os.environ.get("RANK")
    if rank in (None, ""):
        return None
    return total()


def of_something():
    rank = os.environ.get("RANK")
    if rank not in {None, ""}:
        return total()
    return None


def of_the_first():
    rank = os.environ.get("RANK")
    if rank in (None, "0"):
        return total()  # expect: TRL006
    return None


if __name__ == "__main__":
    dist.init_process_group("nccl")
    of_an_empty_text()
    of_nothing()
    of_something()
    of_the_first()

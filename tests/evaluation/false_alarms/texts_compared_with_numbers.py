# What a launcher sets is text, which equals no number: such a test has one answer for all ranks of a launch.
import os

import torch
import torch.distributed as dist
import wandb

MAIN = 0


def total():
    ones = torch.ones(1, device="cuda")
    dist.all_reduce(ones)
    return ones


def of_others():
    if os.getenv("LOCAL_RANK", 0) != 0:
        return total()
    return None


def of_the_first(rank):
    if rank == MAIN:
        return total()
    return None


def by_the_other_side():
    first = MAIN
    return total() if first == os.environ["RANK"] else None


def of_several():
    rank = os.environ.get("RANK", -1)
    if rank in (-1, 0):
        return total()
    if rank not in [None, "", -1]:
        return total()
    return None


def asked_for_a_run():
    started = os.getenv("LOCAL_RANK", 0) != 0
    go = True if started else input("Train? ") == "y"
    if go:
        return total()
    return None


def of_lightning():
    if os.environ.get("LOCAL_RANK", 0) == 0:
        wandb.init(project="run")


def of_a_number():
    if int(os.getenv("LOCAL_RANK", 0)) != 0:
        return total()  # expect: TRL006
    return None


def of_a_text():
    if os.getenv("LOCAL_RANK", "0") != "0":
        return total()  # expect: TRL006
    return None


def of_either():
    if os.environ["RANK"] in (0, "0"):
        return total()  # expect: TRL006
    return None


def of_an_unknown(main):
    if os.environ["RANK"] == main:
        return total()  # expect: TRL006
    return None


if __name__ == "__main__":
    dist.init_process_group("nccl")
    of_others()
    of_the_first(os.environ.get("RANK", MAIN))
    by_the_other_side()
    of_several()
    asked_for_a_run()
    of_lightning()
    of_a_number()
    of_a_text()
    of_either()
    of_an_unknown(input())

"""The process group is started if there is none: all ranks run that branch the first time, and none later."""

import os

import torch.distributed as dist


def under_the_condition(flag):
    rank = 0
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if not dist.is_initialized() and world_size > 1:
        rank = int(os.environ["RANK"])
        dist.init_process_group("nccl", rank=rank, world_size=world_size)
        reveal_rank(rank)  # revealed: local(rank)
    reveal_rank(rank)  # revealed: local(rank)
    return rank


def behind_the_condition():
    if dist.is_initialized():
        return 0
    rank = int(os.environ["RANK"])
    reveal_rank(rank)  # revealed: local(rank)
    dist.init_process_group("nccl")
    return rank


def in_the_other_arm(x):
    if dist.is_initialized():
        reveal_rank(dist.get_rank())  # revealed: local(rank)
    else:
        dist.init_process_group("nccl")
        reveal_rank(int(os.environ["RANK"]))  # revealed: local(rank)


def started_elsewhere(x):
    if not dist.is_initialized():
        reveal_rank(x)  # revealed: never
        return x
    rank = dist.get_rank()
    reveal_rank(rank)  # revealed: local(rank)
    return rank


def started_before(x):
    dist.init_process_group("nccl")
    if not dist.is_initialized():
        reveal_rank(x)  # revealed: never
        x = dist.get_rank()
    return x


reveal_rank(under_the_condition(True))  # revealed: local(rank)
reveal_rank(behind_the_condition())  # revealed: local(rank)

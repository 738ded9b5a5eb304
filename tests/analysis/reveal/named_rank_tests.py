"""A test of the rank with a name is one for a single rank, like the test itself, also beside what is unknown."""

import os

import torch.distributed as dist


def start():
    if "RANK" not in os.environ:
        return 0, 1
    dist.init_process_group("nccl")
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def train(args):
    rank, size = start()
    reveal_rank(rank)  # revealed: local(rank)
    due = args.step() % args.every() == 0
    reveal_rank(due)  # revealed: unknown
    is_first = rank == 0
    reveal_rank(is_first and due)  # revealed: local(rank)
    reveal_rank(due and is_first)  # revealed: local(rank)
    # Which ranks, or whether any, is not known.
    is_odd = rank % 2
    reveal_rank(is_odd and due)  # revealed: unknown
    is_used = rank < args.groups()
    reveal_rank(is_used and due)  # revealed: unknown
    reveal_rank(is_first or due)  # revealed: unknown
    chosen = rank == 0
    chosen = rank < args.groups()
    reveal_rank(chosen and due)  # revealed: unknown

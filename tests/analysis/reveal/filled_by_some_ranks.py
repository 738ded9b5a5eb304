"""A list that the main process fills with what all ranks have is no share; one that each rank fills in its turn is.

A list that a function makes for itself is as long on all ranks that call it.
"""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"]


def filled(count):
    kept = []
    if RANK == 0:
        for _ in range(count):
            kept.append(torch.ones(3))
        reveal_rank(torch.stack(kept))  # revealed: unknown
    reveal_rank(torch.stack(kept))  # revealed: unknown


def in_turns(count):
    rows = []
    for i in range(count):
        if i % SIZE == RANK:
            rows.append(torch.ones(3))
    reveal_rank(torch.stack(rows))  # revealed: shard


def shares(names):
    rows = []
    for _ in names[RANK::SIZE]:
        rows.append(torch.ones(3))
    reveal_rank(torch.stack(rows))  # revealed: shard


def made(count):
    rows = []
    for _ in range(count):
        rows.append(torch.ones(3))
    return rows


def of_each(names):
    rows = []
    for _ in names:
        rows.append(torch.ones(3))
    return rows


def add(rows):
    rows.append(torch.ones(3))


def again(rows):
    if rows is None:
        rows = []
    rows.append(torch.ones(3))
    return rows


def made_by_callee():
    if RANK == 0:
        reveal_rank(torch.stack(made(3)))  # revealed: same
        reveal_rank(torch.stack(of_each(NAMES)))  # revealed: same
    reveal_rank(torch.stack(of_each(NAMES[RANK::SIZE])))  # revealed: shard


def added_in_turns(count):
    rows = []
    for i in range(count):
        if i % SIZE == RANK:
            add(rows)
    reveal_rank(torch.stack(rows))  # revealed: unknown


def added_again_in_turns(count):
    rows = []
    for i in range(count):
        if i % SIZE == RANK:
            rows = again(rows)
    reveal_rank(torch.stack(rows))  # revealed: local(rank)

"""A list that the main process fills with what all ranks have is no share; one that each rank fills in its turn is."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()


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

# What a named tuple of `collections` holds is known by its names, as that of a NamedTuple.
import collections
from collections import namedtuple

import torch
import torch.distributed as dist

Batch = collections.namedtuple("Batch", ["rows", "count"])
Counts = namedtuple("Counts", "own, shared")
Unknown = namedtuple("Unknown", open("names.txt").read())

dist.init_process_group("nccl")


def share(rows):
    return Batch(rows[dist.get_rank() :: dist.get_world_size()], count=len(rows))


def by_count(batch, total):
    if batch.count > 10:
        dist.all_reduce(total)


def by_rows(batch, total):
    if len(batch.rows) > 10:
        dist.all_reduce(total)  # expect: TRL006


def by_items(batch, total):
    own, shared = Counts(len(batch.rows), batch.count)
    if shared > 20:
        dist.all_reduce(total)
    if own > 20:
        dist.all_reduce(total)  # expect: TRL006


def by_an_unknown_name(batch, total):
    if Unknown(len(batch.rows), batch.count).own > 30:
        dist.all_reduce(total)


batch, total = share(open("rows.txt").readlines()), torch.zeros(1, device="cuda")
for check in (by_count, by_rows, by_items, by_an_unknown_name):
    check(batch, total)

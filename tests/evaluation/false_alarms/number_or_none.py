# The rank is None on all ranks or on none: that depends on how many there are.
import os

import torch
import torch.distributed as dist


def rank_where_several():
    try:
        rank = int(os.environ.get("RANK", "0"))
        if int(os.environ.get("WORLD_SIZE", "1")) < 2:
            return None
    except KeyError:
        return None
    dist.init_process_group("nccl", rank=rank)
    return rank


def number_of_first():
    if dist.get_rank() == 0:
        return 1
    return None


def by_number(losses):
    rank = rank_where_several()
    has_several = rank is not None
    if has_several:
        dist.all_reduce(losses)
    if rank == 0:
        dist.all_gather_object([], losses)  # expect: TRL006


def by_first(losses):
    if number_of_first() is not None:
        dist.all_reduce(losses)  # expect: TRL006


class Shared:
    def __init__(self, in_parallel):
        self.rank = dist.get_rank() if in_parallel else None
        self.scale = None
        if dist.get_rank() == 0:
            self.scale = torch.ones(1).item()

    def add(self, losses):
        if self.rank is not None:
            dist.all_reduce(losses)

    def scaled(self, losses):
        if self.scale is not None:
            dist.all_reduce(losses)  # expect: TRL006

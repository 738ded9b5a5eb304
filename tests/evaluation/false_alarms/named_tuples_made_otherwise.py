# A named tuple whose `__new__` takes other arguments than its fields: it may make them the same on all ranks.
from collections import namedtuple
from pathlib import Path

import torch
import torch.distributed as dist


class Shared(namedtuple("Shared", ["count"])):
    def __new__(cls, rows):
        count = torch.tensor(len(rows), device="cuda")
        dist.all_reduce(count)
        return super().__new__(cls, count.item())


class Own(namedtuple("Own", ["rows"])):
    __slots__ = ()


def check_shared(part, total):
    if Shared(part).count > 10:
        dist.all_reduce(total)


def check_own(part, total):
    if len(Own(part).rows) > 10:
        dist.all_reduce(total)  # expect: TRL006


dist.init_process_group("nccl")
part = Path("rows.txt").read_text().splitlines()[dist.get_rank() :: dist.get_world_size()]
check_shared(part, torch.zeros(1, device="cuda"))
check_own(part, torch.zeros(1, device="cuda"))

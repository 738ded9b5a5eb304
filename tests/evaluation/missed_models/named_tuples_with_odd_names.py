# A field that cannot have the name that is given for it gets another one (`rename=True`).
from collections import namedtuple

import torch.distributed as dist

Place = namedtuple("Place", "def class rank", rename=True)
Named = namedtuple("Named", "kind rank")

dist.init_process_group("nccl")


def placed():
    place = Place(1, 2, dist.get_rank())
    if place.rank == 0:
        dist.barrier()  # expect: TRL006


def named():
    if Named(1, dist.get_rank()).kind == 1:
        dist.barrier()


placed()
named()

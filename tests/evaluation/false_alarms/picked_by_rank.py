# What a rank picks from a list that all have is its own: each writes a file of another name.
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist


@dataclass
class Sums:
    total: float
    count: int = 0

    def exchanged(self):
        total = torch.tensor([self.total], device="cuda")
        dist.all_reduce(total)
        return replace(self, total=total.item())


def stages(net, parts):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    found = [index for index, part in enumerate(parts) if rank in part]
    torch.save(net, f"stage{found[0]}.pt")
    first = next(index for index, part in enumerate(parts) if rank in part)
    torch.save(net, f"first{first}.pt")
    place = [0, 1, 2, 3].index(rank)
    torch.save(net, f"place{place}.pt")
    many = [index for index, part in enumerate(parts) if len(part) > 1]
    torch.save(net, f"many{many[0]}.pt")  # expect: TRL008
    where = [0, 1, 2, 3].index(3)
    torch.save(net, f"where{where}.pt")  # expect: TRL008


def wait(parts):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if next(index for index, part in enumerate(parts) if rank in part) == 0:
        dist.barrier()  # expect: TRL006


def sums(limit):
    dist.init_process_group("nccl")
    own = Sums(0.0)
    own.total += dist.get_rank()
    if own.exchanged().total > limit:
        dist.barrier()


def sums_of_some(limit):
    dist.init_process_group("nccl")
    own = Sums(0.0)
    own.total += dist.get_rank()
    if replace(own, count=1).total > limit:
        dist.barrier()  # expect: TRL006

# What a dataclass sets from its fields once they are there is known where the object is used.
import os
from dataclasses import InitVar, dataclass, field

import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Process:
    rank: int = field(default_factory=lambda: int(os.environ.get("RANK", 0)))

    def __post_init__(self):
        self.is_main = self.rank == 0


@dataclass
class Named:
    rank: InitVar[int]
    name: str = "x"
    is_main: bool = field(init=False)

    def __post_init__(self, rank):
        self.is_main = rank == 0


class Base:
    def __post_init__(self):
        self.is_first = self.rank == 0


@dataclass
class Derived(Base):
    rank: int
    steps: int = 1

    def __post_init__(self):
        super().__post_init__()
        self.is_long = self.steps > 100


def main(args, net):
    dist.init_process_group("nccl")
    own = Process()
    writer = SummaryWriter(args.folder) if own.is_main else None
    named = Named(dist.get_rank())
    if named.is_main:
        torch.save(net.state_dict(), "net.pt")
    derived = Derived(dist.get_rank(), args.steps)
    if derived.is_first:
        writer.add_scalar("steps", derived.steps, 0)
    if derived.is_long:
        dist.barrier()
        SummaryWriter(args.folder)  # expect: TRL008
    if own.is_main:
        dist.barrier()  # expect: TRL006

# The class of a context manager waits for all ranks where its block is entered or left.
import torch.distributed as dist
from lib import work


class Entered:
    def __enter__(self):
        dist.barrier()

    def __exit__(self, *error):
        pass


class Left:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        dist.barrier()


class InTurn:
    """The first rank works, and then the others."""

    def __enter__(self):
        if dist.get_rank() != 0:
            dist.barrier()

    def __exit__(self, *error):
        if dist.get_rank() == 0:
            dist.barrier()


dist.init_process_group("nccl")
if dist.get_rank() == 0:
    with Entered():  # expect: TRL006
        work()
if dist.get_rank() == 0:
    with Left() as left:  # expect: TRL006
        work(left)
with Entered(), Left():
    work()
with InTurn():
    work()

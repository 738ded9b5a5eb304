# Each of several branches waits once, so that all ranks meet.
import torch.distributed as dist
from lib import work

dist.init_process_group("nccl")
rank = dist.get_rank()


def three_ways():
    if rank == 0:
        work("first")
        dist.barrier()
    elif rank == 1:
        work("second")
        dist.barrier()
    else:
        dist.barrier()


def four_ways(x):
    if rank == 0:
        dist.all_reduce(x)
        dist.barrier()
    elif rank == 1:
        work("second")
        dist.all_reduce(x)
        dist.barrier()
    elif rank == 2:
        dist.all_reduce(x)
        work("third")
        dist.barrier()
    else:
        dist.all_reduce(x)
        dist.barrier()


def nested():
    if rank < 4:
        if rank == 0:
            dist.barrier()
        else:
            work("near")
            dist.barrier()
    else:
        dist.barrier()


def one_does_not():
    if rank == 0:
        dist.barrier()
    elif rank == 1:
        work("second")
    else:
        dist.barrier()  # expect: TRL006


def one_waits_twice():
    if rank == 0:
        dist.barrier()
        dist.barrier()  # expect: TRL006
    elif rank == 1:
        dist.barrier()
    else:
        dist.barrier()


three_ways(), four_ways(work("x")), nested(), one_does_not(), one_waits_twice()

# Ranks whose process ends have met the others as often as these meet anybody.
import os
import sys

import torch.distributed as dist


def met_before(figures):
    if dist.get_rank() != 0:
        dist.barrier()
        sys.exit(0)
    with open("report.txt", "w") as file:
        file.write(figures)
    dist.barrier()


def alone_afterwards(figures):
    dist.barrier()
    if dist.get_rank() != 0:
        dist.destroy_process_group()
        os._exit(0)
    dist.destroy_process_group()
    with open("report.txt", "w") as file:
        file.write(figures)


def failed(figures):
    if dist.get_rank() == 0 and not figures:
        sys.exit("no figures")
    dist.barrier()


def nothing_to_do(folder):
    if not os.listdir(folder):
        sys.exit(0)
    dist.barrier()


def left_early():
    if dist.get_rank() != 0:
        sys.exit(0)  # expect: TRL006
    dist.barrier()


def raised():
    if dist.get_rank() == 0:
        print("done")
    else:
        raise SystemExit  # expect: TRL006
    dist.all_reduce(figures_of())


def figures_of():
    import torch

    return torch.ones(1, device="cuda")


def main(figures):
    dist.init_process_group("nccl")
    nothing_to_do("data")
    failed(figures)
    met_before(figures)
    alone_afterwards(figures)


def other():
    dist.init_process_group("nccl")
    left_early()


def third():
    dist.init_process_group("nccl")
    raised()

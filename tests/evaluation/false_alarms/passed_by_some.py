"""A list that only some ranks pass on is the same for all if it is only read, and differs if it is changed."""

import sys

import torch
import torch.distributed as dist


def show(parts):
    print(len(parts))


def change(parts):
    parts[0] = 0.5


def read_twice(count, chosen):
    parts = [0.0] * count
    parts[chosen] = 1.0
    others = [0.0] * count
    others[chosen] = 1.0
    if dist.get_rank() == 0:
        show(others)
        show(parts)
    if parts[0] == 0.0:
        dist.barrier()


def changed():
    parts = [0.0, 0.0]
    others = [0.0, 0.0]
    if dist.get_rank() == 0:
        change(others)
        change(parts)
    if parts[0] == 0.0:
        dist.barrier()  # expect: TRL006


def main(count, chosen):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % 8)
    read_twice(count, chosen)
    changed()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

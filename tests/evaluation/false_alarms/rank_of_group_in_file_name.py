"""Logs with the rank in a process group in their names: each process has a file of its own.

A class of the project stands for the group where there is one process. Its size is the same on all ranks.
"""

import sys

import torch.distributed as dist


class Alone:
    def rank(self):
        return 0

    def size(self):
        return 1


def main(folders):
    dist.init_process_group("nccl")
    group = dist.group.WORLD if len(folders) > 1 else Alone()
    with open(f"out/render_{group.size()}_{group.rank()}.log", "w") as log:
        log.write("started")
    with open(f"out/render_{group.size()}.log", "w") as log:  # expect: TRL008
        log.write("started")
    pairs = dist.new_group([0, 1])
    with open(f"out/pair_{pairs.rank()}.log", "w") as log:
        log.write("started")


if __name__ == "__main__":
    main(sys.argv[1:])

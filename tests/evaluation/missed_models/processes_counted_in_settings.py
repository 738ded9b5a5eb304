# The number of processes that a helper keeps among the options, by any name, is known where it is compared.
import argparse
import os

import torch
import torch.distributed as dist


def set_up(args):
    args.local_rank = int(os.environ.get("LOCAL_RANK", -1))
    if args.local_rank == -1:
        args.factor = 1
    else:
        dist.init_process_group("nccl")
        args.factor = dist.get_world_size()


class Validation:
    def __init__(self, args):
        self.args = args
        self.factor = args.factor or 1

    def average_rank(self, rank):
        if self.factor > 1:
            dist.all_reduce(rank)
        return rank / self.factor

    def run(self, rank):
        self.average_rank(rank)
        if self.args.local_rank in [-1, 0]:
            self.average_rank(rank)  # expect: TRL006
        if self.args.factor == 1 and self.args.local_rank in [-1, 0]:
            self.average_rank(rank)


def main():
    args = argparse.ArgumentParser().parse_args()
    set_up(args)
    Validation(args).run(torch.zeros(1, device=torch.device("cuda", args.local_rank)))


main()

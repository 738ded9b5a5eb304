# A flag that an object, or a module of settings, has for one rank tells that rank from the others, beside anything else
# that is asked: one by the launcher's number, too.
import os

import torch
import torch.distributed as dist


class Job:
    def __init__(self):
        self.number = int(os.environ["RANK"])
        self.first = self.number == 0
        self.node = int(os.environ["RANK"]) // 8
        self.on_first_node = self.node == 0
        self.best = torch.load("last.pt")["best"]

    def save(self):
        if self.first:
            torch.save({}, "last.pt")
        dist.barrier()

    def of_one_rank(self, loss):
        if self.first and loss < self.best:
            self.save()  # expect: TRL006
        self.save()

    def of_all(self, loss):
        if loss < self.best:
            self.save()
        self.save()

    def under_a_name(self, ask):
        first = self.first
        if ask() and first:
            self.save()  # expect: TRL006

    def of_one_node(self, group, ask):
        if self.on_first_node and ask():
            dist.barrier(group=group)


def set_up(args):
    args.number = int(os.environ["RANK"])
    args.first = args.number == 0


def in_settings(args, ask):
    if args.first and ask():
        dist.barrier()  # expect: TRL006
    if args.first and ask():
        print("asked")
    dist.barrier()


def main(args, ask):
    dist.init_process_group("nccl")
    set_up(args)
    job = Job()
    job.of_one_rank(0.5)
    job.of_all(0.5)
    job.under_a_name(ask)
    job.of_one_node(dist.new_group(), ask)
    in_settings(args, ask)

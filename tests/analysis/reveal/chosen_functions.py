"""A setting chooses between functions or methods: all of them may be called, and each leaves its traces."""

import argparse
import functools

import torch.distributed as dist


def first(name):
    reveal_rank(name)  # revealed: same
    return dist.get_rank()


def second(name):
    reveal_rank(name)  # revealed: same
    return 1


def third(name):
    reveal_rank(name)  # revealed: local(rank)
    return name


TABLE = {"first": first, "second": second}


class Task:
    def __init__(self):
        self.found = 0

    def search(self, name):
        reveal_rank(name)  # revealed: same
        self.found = dist.get_rank()

    def skip(self, name):
        reveal_rank(name)  # revealed: same


def main(args):
    dist.init_process_group("nccl")
    reveal_rank(TABLE[args.kind]("a"))  # revealed: local(rank)
    if args.kind == "first":
        chosen = first
    else:
        chosen = second
    reveal_rank(chosen("a"))  # revealed: local(rank)
    reveal_rank((second if args.kind == "second" else (lambda name: name))("a"))  # revealed: same
    bound = functools.partial(first, "a") if args.kind == "first" else (lambda: second("a"))
    reveal_rank(bound())  # revealed: local(rank)
    for each in (first, second):
        reveal_rank(each("a"))  # revealed: local(rank)
    task = Task()
    step = task.search if args.kind == "first" else task.skip
    step("a")
    reveal_rank(task.found)  # revealed: local(rank)
    by_rank = first if dist.get_rank() == 0 else second
    reveal_rank(by_rank("a"))  # revealed: unknown
    third(dist.get_rank())


parser = argparse.ArgumentParser()
parser.add_argument("--kind")
main(parser.parse_args())

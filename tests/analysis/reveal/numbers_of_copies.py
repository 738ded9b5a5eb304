"""A number that a copy of the settings is given is known wherever the copy goes; what is unsure is not."""

import copy

from torch.nn.parallel import DistributedDataParallel


class Loop:
    def __init__(self, model, args):
        self.args = args
        self.model = model

    def step(self, rows):
        if self.args.world_size > 1:
            reveal_rank(rows)  # revealed: same
        else:
            reveal_rank(rows)  # revealed: unknown


def number_of(args):
    if args.number == 1:
        reveal_rank(args.number)  # revealed: same
    else:
        reveal_rank(args.other)  # revealed: never


def changed(args):
    if args.sure:
        args.number = args.several
    if args.number == 2:
        reveal_rank(args.first)  # revealed: unknown
    else:
        reveal_rank(args.second)  # revealed: unknown


def changed_later(args):
    other = copy.deepcopy(args)
    other.number = 2
    changed(other)
    if other.number == 2:
        reveal_rank(other.first)  # revealed: unknown
    else:
        reveal_rank(other.second)  # revealed: unknown


def set_twice(args):
    other = copy.deepcopy(args)
    other.number = 2
    if args.sure:
        other.number = 3
    if other.number == 2:
        reveal_rank(other.first)  # revealed: unknown
    else:
        reveal_rank(other.second)  # revealed: unknown


def copied_again(args):
    other = copy.deepcopy(args)
    other.number = 2
    third = copy.copy(other)
    if third.number == 2:
        reveal_rank(third.first)  # revealed: unknown
    else:
        reveal_rank(third.second)  # revealed: never


def bound_again(args):
    other = copy.deepcopy(args)
    other.number = 2
    if args.sure:
        other = args
    if other.number == 2:
        reveal_rank(other.first)  # revealed: unknown
    else:
        reveal_rank(other.second)  # revealed: unknown


class Setting:
    def __init__(self, args):
        self.args = args
        if args.sure:
            self.args.count = 4

    def run(self):
        if self.args.count == 2:
            reveal_rank(self.args.first)  # revealed: unknown
        else:
            reveal_rank(self.args.second)  # revealed: unknown


def main(args, rows, model):
    loop = Loop(model, args)
    loop.step(1)
    alone = copy.deepcopy(args)
    alone.world_size = 1
    alone.number = 1
    Loop(model, alone).step(rows)
    number_of(alone)
    changed_later(args)
    set_twice(args)
    copied_again(args)
    bound_again(args)
    Setting(args)
    counted = copy.deepcopy(args)
    counted.count = 2
    Setting(counted).run()

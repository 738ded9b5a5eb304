"""An object of the project that knows the rank: what it holds before there are processes does not hide that it asks."""

import os

import torch.distributed as dist


class Manager:
    shared = {}

    def __new__(cls):
        made = super().__new__(cls)
        made.__dict__ = cls.shared
        if not hasattr(made, "_rank"):
            made._rank = 0
        return made

    @property
    def rank(self):
        return self._rank

    @staticmethod
    def initialize():
        manager = Manager()
        manager._rank = int(os.environ.get("RANK"))
        dist.init_process_group("nccl", rank=manager.rank)


def train(args):
    Manager.initialize()
    manager = Manager()
    reveal_rank(manager.rank)  # revealed: local(rank)
    reveal_rank(manager.rank == 0)  # revealed: local(rank)
    due = args.step() % args.every() == 0
    reveal_rank(due)  # revealed: unknown
    # One rank is meant, whatever else is tested.
    reveal_rank(due and manager.rank == 0)  # revealed: local(rank)
    reveal_rank(due and manager.rank == 1)  # revealed: local(rank)
    # Which ranks, or whether any, is not known.
    reveal_rank(due and manager.rank % 2)  # revealed: unknown
    reveal_rank(due or manager.rank == 0)  # revealed: unknown
    reveal_rank(due and manager.rank < args.groups())  # revealed: unknown

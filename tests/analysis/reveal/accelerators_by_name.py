"""A parameter named `accelerator`, and used as one in the file, is one if nothing else is known of it."""

from torch.utils.data import DataLoader
from somewhere import load


class Trains:
    def __init__(self, rows, accelerator=None):
        self.accelerator = accelerator
        for batch in self.accelerator.prepare(DataLoader(rows)):
            reveal_rank(batch)  # revealed: shard


def of(given, accelerator):
    for batch in accelerator.prepare(DataLoader(given.rows)):
        reveal_rank(batch)  # revealed: shard
    for batch in given.accelerator.prepare(DataLoader(given.rows)):
        reveal_rank(batch)  # revealed: unknown


def other_name(rows, engine):
    for batch in engine.prepare(DataLoader(rows)):
        reveal_rank(batch)  # revealed: unknown


def starts(args):
    of(args, load(args))

"""A class that keeps its only object itself, made where it is first needed: other code gets that object."""

import os
import random
from typing import Optional

import torch.distributed as dist


class Asked:
    _made = None

    def __init__(self):
        self.number = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])

    @classmethod
    def get(cls):
        if cls._made is None:
            cls._made = cls()
        reveal_rank(cls._made.number)  # revealed: local(rank)
        return cls._made


class Named:
    _made: Optional["Named"] = None

    def __init__(self):
        self.number = int(os.environ["RANK"])

    @staticmethod
    def get():
        if Named._made is None:
            Named._made = Named()
        return Named._made


class Bare:
    def __init__(self):
        self.number = dist.get_rank()

    @classmethod
    def get(cls):
        if not hasattr(cls, "made"):
            cls.made = cls()
        return cls.made


class New:
    _made = None

    def __new__(cls):
        if cls._made is None:
            cls._made = super().__new__(cls)
        return cls._made

    def __init__(self):
        self.number = dist.get_rank()


class Part(Asked):
    pass


class Counted:
    steps = 0

    @classmethod
    def count(cls):
        cls.steps += 1


class Other:
    source = None

    @classmethod
    def open(cls):
        cls.source = Asked() if random.random() < 0.5 else None
        return cls.source


def all_of_them():
    reveal_rank(Asked.get().number)  # revealed: local(rank)
    reveal_rank(Asked.get().size)  # revealed: same
    reveal_rank(Asked._made is None)  # revealed: unknown
    reveal_rank(Named.get().number)  # revealed: local(rank)
    reveal_rank(Bare.get().number)  # revealed: local(rank)
    reveal_rank(New._made.number)  # revealed: local(rank)
    reveal_rank(Part.get().number)  # revealed: local(rank)
    reveal_rank(Counted.steps)  # revealed: unknown
    reveal_rank(Other.source.number)  # revealed: unknown


all_of_them()

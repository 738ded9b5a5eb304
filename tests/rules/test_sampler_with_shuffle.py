"""TRL030: which loaders are told to shuffle beside the sampler of the ranks, the message, and the fix."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets

from trl_lint.findings import Applicability, Consequence

SNIPPETS = Snippets("TRL030")
HEAD = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, distributed

class Repeated(DistributedSampler):
    def __iter__(self):
        return iter([*super().__iter__(), *super().__iter__()])

def make(args, rows, shuffle=True):
    several = dist.is_initialized()
"""
MADE = "sampler = DistributedSampler(rows) if args.distributed else None\n"
SET = "sampler = None\nif args.local_rank != -1:\n    sampler = DistributedSampler(rows)\n"


def program(body: str) -> str:
    return HEAD + indent(body, "    ")


@pytest.mark.parametrize("body", [
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=True)",
    MADE + "return DataLoader(rows, 8, True, sampler)",
    MADE + "shuffle = True\nreturn DataLoader(rows, shuffle=shuffle, sampler=sampler)",
    SET + "return DataLoader(rows, sampler=sampler, shuffle=True)",
    "sampler = distributed.DistributedSampler(rows)\nreturn DataLoader(rows, sampler=sampler, shuffle=True)",
    "sampler = Repeated(rows) if several else None\nreturn DataLoader(rows, sampler=sampler, shuffle=True)",
    "return DataLoader(rows, sampler=DistributedSampler(rows), shuffle=True)",
    "if args.distributed:\n    sampler = DistributedSampler(rows)\n    return DataLoader(rows, 8, True, sampler)",
    MADE + "if args.train:\n    return DataLoader(rows, sampler=sampler, shuffle=True)",
])  # fmt: skip
def test_it_raises_on_several(body):
    assert SNIPPETS.findings(program(body))


@pytest.mark.parametrize("body", [
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=sampler is None)",
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=not args.distributed)",
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=shuffle and not sampler)",
    MADE + "return DataLoader(rows, sampler=sampler)",
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=args.shuffle)",
    MADE + "return DataLoader(rows, sampler=sampler, shuffle=shuffle)",  # what callers pass is not known
    MADE + "if sampler is not None:\n    shuffle = False\nreturn DataLoader(rows, sampler=sampler, shuffle=shuffle)",
    MADE + "if sampler:\n    return DataLoader(rows, sampler=sampler)\nreturn DataLoader(rows, 8, True, sampler)",
    MADE + "if not args.distributed:\n    return DataLoader(rows, sampler=sampler, shuffle=True)",
    MADE + "try:\n    return DataLoader(rows, 8, True, sampler)\nexcept ValueError:\n    return DataLoader(rows, 8)",
    SET + "if args.local_rank == -1:\n    return DataLoader(rows, sampler=sampler, shuffle=True)",
    SET + "return DataLoader(rows, 8, True, sampler) if args.local_rank == -1 else DataLoader(rows, sampler=sampler)",
    "sampler = RandomSampler(rows)\nreturn DataLoader(rows, sampler=sampler, shuffle=True)",
    "settings = dict(shuffle=True)\nif several:\n    settings.update(sampler=DistributedSampler(rows), shuffle=False)\n"
    "return DataLoader(rows, **settings)",
])  # fmt: skip
def test_it_does_not(body):
    assert SNIPPETS.findings(program(body)) == []


def test_a_sampler_that_a_caller_passes():
    text = (
        "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, DistributedSampler\n\n"
        "def make(rows, sampler=None, shuffle=True):\n    return DataLoader(rows, sampler=sampler, shuffle=shuffle)\n\n"
        "make([1])\nmake([1], DistributedSampler([1]), False)\n"
    )
    assert SNIPPETS.findings(text) == []
    found = SNIPPETS.findings(text + "make([1], DistributedSampler([1]))\n")
    assert [each.start.line for each in found] == [5]


def test_the_message():
    finding = SNIPPETS.finding(program(MADE + "return DataLoader(rows, sampler=sampler, shuffle=True)"))
    assert finding.message == (
        "the loader is told to shuffle beside `sampler`, which deals the rows to the ranks: "
        "on several GPUs it raises ValueError"
    )
    assert finding.consequence is Consequence.CRASH


def test_the_fix():
    text = program(MADE + "return DataLoader(rows, sampler=sampler, shuffle=True)  # all\n")
    assert SNIPPETS.mended(text) == text.replace("shuffle=True)  #", "shuffle=sampler is None)  #")


@pytest.mark.parametrize("body", [
    "return DataLoader(rows, sampler=DistributedSampler(rows), shuffle=True)",
    MADE + "shuffle = True\nreturn DataLoader(rows, shuffle=shuffle, sampler=sampler)",
])  # fmt: skip
def test_else_there_is_a_hint(body):
    fix = SNIPPETS.finding(program(body)).fix
    assert fix is None or fix.applicability is Applicability.DISPLAY

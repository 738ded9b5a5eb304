"""TRL006 where a function that starts the process group is given the number of this process."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")

SET_UP = """
import torch.distributed as dist


def set_up({parameters}):
    dist.init_process_group("nccl", rank=me, world_size=world)


class Group:
    def set_up(self, me, world):
        dist.init_process_group("nccl", rank=me, world_size=world)


def run(number, size, args):
    {call}
    if number == 0:
        dist.barrier()
"""


@pytest.mark.parametrize(
    ("parameters", "call", "is_given"),
    [
        ("me, world", "set_up(number, size)", True),
        ("me, world", "set_up(world=size, me=number)", True),
        ("me, world", "set_up(int(number), size)", True),
        ("me, /, world", "set_up(number, size)", True),
        ("world, *, me", "set_up(size, me=number)", True),
        # Something else is given, or it is not shown what.
        ("me, world", "set_up(args.rank, number)", False),
        ("me, world", "set_up(1 - number, size)", False),
        ("me, world", "set_up(*args.both, number)", False),
        ("world, me=0", "set_up(number)", False),
        ("me, world", "Group().set_up(number, size)", False),
        ("me, world", "number = args.number\n    number = number or 1\n    set_up(number, size)", False),
    ],
)
def test_what_is_given_to_a_function_that_passes_it_as_the_rank(parameters, call, is_given):
    assert bool(SNIPPETS.findings(SET_UP.format(parameters=parameters, call=call))) is is_given

"""The number of processes, where a parameter that is called so gets something of which no more is known.

For example:

    def gathered(x, world_size): …       gathered(x, config.gpus)                              the number of processes
    def train(rank, world_size): …       mp.spawn(train, args=(args.gpus,), nprocs=args.gpus)  the same
                                         train(0, 1)                                           1: a run of one process
"""

from __future__ import annotations

from trl_lint.domain.constants import MISSING
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import WORLD_FIELD
from trl_lint.knowledge.schema import WORLD


def as_world_size(name: str, value: Value) -> Value:
    """The argument of a parameter called `world_size`, where nothing else is known of it than that it is several."""
    is_several = isinstance(value.const, int) and value.const > 1
    is_known = (value.const is not MISSING and not is_several) or value.rank.differs
    is_other = value.kind not in (Kind.UNKNOWN, Kind.NUMBER)
    return value if is_known or is_other or not WORLD_FIELD.fits(name) else WORLD

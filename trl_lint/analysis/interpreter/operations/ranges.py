"""`range`: its numbers, and how many there are.

range(rank, total, world_size)      its first number is each rank's own, and so are all others
range(len(batch))                   as many as a rank has samples
range(world_size)                   one per rank
range(3 if rank == 0 else 5)        more on some ranks than on others
range(rank, len(rows), world_size)  perhaps one more on some ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import dealt_lengths
from trl_lint.analysis.transfer.processes.chosen_numbers import length_of_range
from trl_lint.analysis.transfer.tensors.operands import size_of
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import IterableValue
from trl_lint.domain.shapes import RAGGED
from trl_lint.domain.values import Kind, Value


def new_range(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    rank = ranks.nonlinear(args.rank())
    # The number of rows selected by a mask differs between ranks.
    if all(size_of(value) is not RAGGED for value in args.all()):
        rank = ranks.of_counts(rank, (value.rank for value in args.all()))
    # `range(rank, total, world)`; epochs that start at a checkpoint's number have the same count.
    start = args.positional[0]
    if len(args.positional) == 1 and start.const is WORLD_SIZE:
        rank = ranks.PER_RANK
    starts_apart = len(args.positional) > 1 and start.rank.differs
    first = ranks.nonlinear(start.rank) if starts_apart else ranks.SAME
    element = derived(first, Kind.NUMBER, start, scalar=True, dtype="int")
    return IterableValue(ranks.SAME, element, dealt_lengths.of_range(frame, node, length_of_range(rank, args)))

"""A `return` inside a loop that the number of the rank decides: behind the loop, the ranks that took it are missing.

For example:

    for start in range(0, len(rows), size):
        if rank == 0 and start > limit:
            return
    dist.barrier()                          without rank 0

Not where each rank returns in its turn: they may all do so.

    for i, row in enumerate(rows):
        if i % size == rank: return row
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import assignments, loop_targets, of_class, used_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Value


def control_behind(
    frame: Frame, node: cst.For | cst.While, control: Control, returned: Iterable[tuple[Value, Memory]]
) -> Control:
    """The control behind a loop, without the ranks that have returned. control: where none of them has.

    returned: what is returned inside the loop, and the state there.
    """
    found = [
        each
        for _, memory in returned
        for each in memory.control.conditions
        if each.uniformity is Uniformity.DIVERGENT and each.rank.is_by_rank
    ]
    if not found:
        return control
    tests = {id(each.test) for each in of_class(node.body, cst.If)}
    bound = loop_targets(node).union(*(used_names(target) for target, _ in assignments(node.body)))
    for each in found:
        test = place_of(each)
        if test is not None and id(test) in tests and not _is_turn(frame, test, bound):
            control = control.under(each)
    return control


def _is_turn(frame: Frame, test: cst.CSTNode, bound: set[str]) -> bool:
    """Whether what differs between ranks in a test also changes from one iteration to the next."""
    differing = (each for each in parts_of(test) if frame.value_of(each).rank.differs)
    return any(not used_names(each).isdisjoint(bound) for each in differing)

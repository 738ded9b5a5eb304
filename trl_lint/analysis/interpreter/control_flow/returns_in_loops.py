"""A `return` inside a loop that the number of the rank decides: behind the loop, the ranks that took it are missing.

For example:

    for start in range(0, len(rows), size):
        if rank == 0 and start > limit:
            return
    dist.barrier()                          without rank 0

Not where each rank returns in its turn: they may all do so.

    for i, row in enumerate(rows):
        if i % size == rank: return row
        turn += 1
        if turn == rank: return row
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import is_bound, parts_of
from trl_lint.analysis.program.syntax import below, of_class, operands
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
    asked = {
        id(place_of(each)): each
        for _, memory in returned
        for each in memory.control.conditions
        if each.uniformity is Uniformity.DIVERGENT and each.rank.is_by_rank
    }
    tests = of_class(node.body, cst.If) if asked else ()
    for test in (branch.test for branch in tests):
        if id(test) in asked and not _is_turn(frame, node, test):
            control = control.under(asked[id(test)])
    return control


def _is_turn(frame: Frame, node: cst.For | cst.While, test: cst.CSTNode) -> bool:
    """Whether what differs between ranks in a test may also change from one iteration to the next."""
    differing = (each for each in parts_of(test) if frame.value_of(each).rank.differs)
    return any(_may_change(frame, node, each) for part in differing for each in operands(part))


def _may_change(frame: Frame, node: cst.For | cst.While, operand: cst.CSTNode) -> bool:
    """Whether a loop binds what a number is made of, or calls a method of the object that has it: `self.advance()`."""
    parts = (each for each in below(operand) if isinstance(each, (cst.Attribute, cst.Name)))
    if any(is_bound(node, each) for each in parts):
        return True
    if not isinstance(operand, cst.Attribute) or frame.value_of(operand).rank.differs:
        return False
    methods = (each.func for each in of_class(node, cst.Call) if isinstance(each.func, cst.Attribute))
    return any(each.value.deep_equals(operand.value) for each in methods)

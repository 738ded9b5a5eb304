"""Places that only the processes beside the first one reach: what is shown there is not shown as that of the job.

For example:

    if rank != 0:
        writer.add_scalar("loss", loss)     not the first process, which has the writer that is looked at
    if is_main_process() == False:
        writer.add_scalar("loss", loss)     nor here
    if rank == 0:
        return
    writer.add_scalar("loss", loss)         nor here
    if rank == 1:
        writer.add_scalar("loss", loss)     one other process, which has the only writer: shown as that of the job
    if rank == 0 or verbose:
        writer.add_scalar("loss", loss)     the first process may get here
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.path_conditions import alternatives, ifs_around, parts_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import ONE_PROCESS_FALSE, ONE_PROCESS_TRUE
from trl_lint.domain.numbers import single_process_value

_FLAGS = (ONE_PROCESS_FALSE, ONE_PROCESS_TRUE)
_EQUALS = (cst.Equal, cst.In, cst.Is)


def are_met(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a condition around a place, or an exit before it, keeps the first process away and lets the others in."""
    return any(_keeps_first_away(frame, part, holds) for part, holds in _conditions(frame.root, node))


def _conditions(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, bool]]:
    """The conditions that must all hold at a place, or must all not hold, each with which it is."""
    around = [*ifs_around(root, node), *((each, False) for each in exits_before(root, node))]
    for branch, holds in around:
        for part in parts_of(branch.test) if holds else alternatives(branch.test):
            yield part, holds


def _keeps_first_away(frame: Frame, test: cst.CSTNode, holds: bool) -> bool:
    """Whether a test of the rank has the other result in a run with one process, which is the first one."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _keeps_first_away(frame, test.expression, not holds)
    value = frame.value_of(test)
    known = single_process_value(value)
    if known is None or not value.rank.is_by_rank or bool(known.value) is holds:
        return False
    return not (holds and _picks_one(frame, test))


def _picks_one(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test is for the process of a number: `rank == 1`, not `is_main == False`."""
    if not isinstance(test, cst.Comparison) or not isinstance(test.comparisons[0].operator, _EQUALS):
        return False
    sides = (test.left, test.comparisons[0].comparator)
    return not any(single_process_value(frame.value_of(each)) in _FLAGS for each in sides)

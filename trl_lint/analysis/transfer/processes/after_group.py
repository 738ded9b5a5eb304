"""Code that asks for the process group after the program has ended it: nobody waits for others there.

if distributed:
    dist.destroy_process_group()
if rank == 0:
    evaluate(model)               gathers only `if dist.is_initialized()`, which is false now

A start that may come in between is one of another group.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    are_in_opposite_branches,
    ifs_around,
    outcomes_of_parts,
)
from trl_lint.analysis.program.syntax import LOOPS, ancestors, is_literal_none, last_name, names_in, of_class, precedes
from trl_lint.analysis.transfer.processes.before_group import (
    ELSEWHERE,
    MAY_START,
    calls_in,
    function_called,
    is_for_several,
    with_callees,
)
from trl_lint.knowledge.process_starts import ASK_FOR_GROUP, END_GROUP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.sync_points import SyncPoint

_STARTS = MAY_START - END_GROUP
_ASKED = rb"\b(?:%b)\b" % b"|".join(each.encode() for each in sorted(ASK_FOR_GROUP))
_WORLD = "WORLD"
# How many calls lead from a function to the end of the group.
_DEPTH = 2


def is_after_group(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether all ranks have ended the group before a place, in its function, and started no other one."""
    root = frame.root
    before = [each for each in of_class(root, cst.Call) if precedes(root, each, node)]
    ended = [number for number, each in enumerate(before) if _is_passed(root, each, node) and _ends(frame, each)]
    return bool(ended) and not any(_starts(frame, each) for each in before[ended[-1] + 1 :])


def is_missing(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a place asks for the group that has been ended, and so is not reached."""
    return frame.module.mentions(_ASKED) and _is_for_a_group(frame.root, node) and is_after_group(frame, node)


def needs_group(function: FunctionInfo, point: SyncPoint) -> bool:
    """Whether ranks in a function only get to a point if they have found that there is a group."""
    return point.of_group or (function.module.mentions(_ASKED) and _is_for_a_group(function.node, point.node))


def _is_for_a_group(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a place of a function is only reached where the function has found that there is a group."""
    tests = [Condition(branch.test, holds) for branch, holds in ifs_around(root, node)]
    tests += [Condition(each.test, False) for each in exits_before(root, node)]
    return any(part.holds and _asks_for_group(part.test) for each in tests for part in outcomes_of_parts(each))


def _asks_for_group(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Call) and last_name(test.func) in ASK_FOR_GROUP


def _is_passed(root: cst.CSTNode, end: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether all ranks of a group get to a call before a place."""
    shared = {id(each) for each in ancestors(root, node)}
    return not are_in_opposite_branches(root, end, node) and _is_reached(root, end, shared)


def _is_reached(root: cst.CSTNode, end: cst.CSTNode, shared: Collection[int] = ()) -> bool:
    """Whether all ranks of a group get to a call, once they are in these statements around it."""
    around = [each for each in ancestors(root, end)[1:] if id(each) not in shared]
    if any(isinstance(each, (*LOOPS, *ELSEWHERE, cst.Try, cst.TryStar)) for each in around):
        return False
    branches = [(branch, holds) for branch, holds in ifs_around(root, end) if id(branch) not in shared]
    return all(holds and _is_where_a_group_is(branch) for branch, holds in branches)


def _is_where_a_group_is(branch: cst.If) -> bool:
    tests = outcomes_of_parts(Condition(branch.test, True))
    return is_for_several(branch) or any(each.holds and _asks_for_group(each.test) for each in tests)


def _ends(frame: Frame, call: cst.Call) -> bool:
    """Whether a call ends the group, itself or in the function that it runs."""
    if _ends_itself(call):
        return True
    function = function_called(frame, frame.module, call, in_frame=True)
    ends = () if function is None else [each for each in calls_in(function.node) if _ends_itself(each)]
    root = None if function is None else function.node
    return root is not None and any(_is_reached(root, each) and not _may_leave(root, each) for each in ends)


def _ends_itself(call: cst.Call) -> bool:
    """Whether a call ends the group of all processes, not one beside it: `destroy_process_group(halves)`."""
    given = [each.value for each in call.args if not is_literal_none(each.value)]
    return last_name(call.func) in END_GROUP and all(last_name(each) == _WORLD for each in given)


def _may_leave(root: cst.CSTNode, end: cst.CSTNode) -> bool:
    """Whether a function may be left before a call, but for one that has found no group."""
    return any(not _is_without_group(each.test) for each in exits_before(root, end))


def _is_without_group(test: cst.BaseExpression) -> bool:
    return any(each.holds and _asks_for_group(each.test) for each in outcomes_of_parts(Condition(test, False)))


def _starts(frame: Frame, call: cst.Call) -> bool:
    if last_name(call.func) in _STARTS:
        return True
    function = function_called(frame, frame.module, call, in_frame=True)
    code = () if function is None else with_callees(frame, function, _DEPTH)
    return any(not _STARTS.isdisjoint(names_in(each)) for each in code)

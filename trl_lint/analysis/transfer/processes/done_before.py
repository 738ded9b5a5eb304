"""What only some ranks have done before, by the same call: then the others find the result.

if rank == 0: build(path)
barrier()
build(path)             a repetition: what `build` makes if it is missing is there, on all ranks

Notes of a kind of work are classes of their own that inherit from `RepeatableWork`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import precedes
from trl_lint.domain.control import Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import UNSEEN, SyncPoint

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame


class RepeatableWork:
    """A run of a function that does some work, itself or by what it calls, and who calls it.

    callers: the run around each call, and whether that is a repetition.
    """

    def __init__(self) -> None:
        self.is_done = False
        self.callers: dict[tuple[int, int, int], tuple[RepeatableWork, bool]] = {}

    def only_repeats(self, inside: tuple[RepeatableWork, ...] = ()) -> bool:
        """Whether all calls that lead here are repetitions, or in one."""
        if self in inside or not self.callers:
            return False
        return all(again or caller.only_repeats((*inside, self)) for caller, again in self.callers.values())


class _Calls:
    """The calls that only some ranks have made, by their source."""

    def __init__(self) -> None:
        self.by_code: dict[str, cst.CSTNode] = {}


def note_call(
    frame: Frame,
    kind: type[RepeatableWork],
    called: EventTrace,
    function: FunctionInfo,
    node: cst.CSTNode,
    *,
    waits: bool,
) -> None:
    """A function of the project was called. waits: it is a repetition only if the ranks wait for each other before."""
    first = made_before(frame, node)
    work, calling = called.notes.of(kind), frame.trace.notes.of(kind)
    if work.is_done and work is not calling:
        calling.is_done = True
        is_again = first is not None and (not waits or _wait_between(frame.root, frame.sync_points, first, node))
        work.callers[id(calling), id(node), id(function)] = calling, is_again


def made_before(frame: Frame, node: cst.CSTNode) -> cst.CSTNode | None:
    """The call with the same code that only some ranks have made before, in the same function."""
    control, calls = frame.memory.control, frame.notes.of(_Calls).by_code
    if control.uniformity is Uniformity.DIVERGENT and control.rank.origins == Origin.RANK:
        calls[frame.module.tree.code_for_node(node)] = node
        return None
    return calls.get(frame.module.tree.code_for_node(node)) if calls else None


def _wait_between(root: cst.CSTNode, points: Iterable[SyncPoint], first: cst.CSTNode, second: cst.CSTNode) -> bool:
    return any(
        point.certain
        and not point.subgroup
        and point.kind not in UNSEEN
        and precedes(root, first, point.node)
        and precedes(root, point.node, second)
        for point in points
    )

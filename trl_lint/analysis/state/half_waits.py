"""Context managers in which some ranks wait on entering a `with` block, and the others on leaving it.

def __enter__(self):
    if rank != 0: barrier()           the others wait until rank 0 has left the block
def __exit__(self, *error):
    if rank == 0: barrier()           and so all ranks meet
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Divergence, Event
from trl_lint.analysis.state.fork_paths import Forks
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.point_sequences import BranchPoints
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo

# The methods that run when a `with` block is entered and left.
_HALVES = frozenset({"__enter__", "__exit__"})


class HalfWaits:
    """For the two methods of a context manager, what only some ranks wait at, by the text of the condition."""

    def __init__(self) -> None:
        self.by_method: dict[FunctionInfo, dict[str, set[str]]] = {}


def record_half_waits(frame: Frame, conditions: Iterable[BranchPoints]) -> None:
    """Record what only some ranks wait at in one of the two methods of a context manager; nothing for other functions.

    conditions: those of the run by which ranks may differ.
    """
    receiver = frame.function
    if receiver is None or receiver.name not in _HALVES:
        return
    known = frame.module.notes.of(HalfWaits).by_method.setdefault(receiver, {})
    divided: list[tuple[cst.CSTNode, Sequence[Sequence[SyncPoint]]]] = [
        (each.branch.test, each.arms) for each in conditions
    ]
    divided += ((fork.test, fork.arms) for fork in frame.notes.of(Forks).by_test.values())
    for test, arms in divided:
        if frame.value_of(test).rank.origins == Origin.RANK and not all(arms):
            text, kinds = frame.module.tree.code_for_node(test), {point.kind for arm in arms for point in arm}
            known[text] = kinds
            frame.engine.note_stored(HalfWaits, receiver, text, kinds)


def is_matched_by_other_half(event: Event) -> bool:
    """Whether the ranks that miss a point when a `with` block is entered reach one when it is left, or the reverse."""
    receiver = event.function
    if not isinstance(event, Divergence) or receiver is None or receiver.cls is None or receiver.name not in _HALVES:
        return False
    if event.origins != Origin.RANK or event.after or not event.missing:
        return False
    (other,) = _HALVES - {receiver.name}
    method = receiver.cls.find(other)
    waits = {} if method is None else event.module.notes.of(HalfWaits).by_method.get(method, {})
    test = event.module.tree.code_for_node(event.condition.node)
    return any(event.sync_point.kind in kinds for text, kinds in waits.items() if text != test)

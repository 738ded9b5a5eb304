"""First-rank contexts: code that one rank runs before the others, and which rank that is.

The control in a program:

    with accelerator.main_process_first(): ...   control.first_rank "job"; the ranks do not reach the block together
    with local_main_process_first(): ...         control.first_rank "node"
    if rank != 0:
        dist.barrier()                           control.first_rank "barrier" until
    prepare()
    if rank == 0:
        dist.barrier()                           none again
    with FileLock(path): ...                     "lock": whichever rank gets it first
    with helper(): ...                           "unknown": its source is not available
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain.control import Control, FirstRank, Uniformity
from trl_lint.domain.kinds import FirstRankContext, IterableValue
from trl_lint.domain.provenance import OneByOne
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import HIDDEN, SyncPoint, place_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import MAY_WAIT

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# The scope between two barriers: some ranks wait in the first, the others reach theirs when they are done.
BARRIER = "barrier"
# The scope in which a lock of a file is held. The ranks do not wait for each other behind it.
LOCK = "lock"
_NOT_ORDERED = ("", LOCK, "unknown")


class FirstRanks:
    """What is known of first ranks in a run.

    calls: the scope in the `with` block of a call, by the id of its node. first_rank: the first rank where a context
    manager yields. has_barrier: whether there is a barrier in it.
    """

    def __init__(self) -> None:
        self.calls: dict[int, str] = {}
        self.first_rank: FirstRank | None = None
        self.has_barrier = False


def note_context(frame: Frame, node: cst.CSTNode, scope: str) -> None:
    """A call returns a context manager in which one rank of the `scope` is first."""
    frame.notes.of(FirstRanks).calls[id(node)] = scope


def lock(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A lock of a file: one for all ranks, unless its name differs between them."""
    if args.rank().differs:
        return frame.engine.unresolved(frame, args, node)
    note_context(frame, node, LOCK)
    return FirstRankContext(LOCK)


def note_barrier(frame: Frame) -> None:
    frame.notes.of(FirstRanks).has_barrier = True


def one_by_one(frame: Frame, node: cst.With) -> OneByOne:
    return OneByOne(frame.module, node, "one rank after the other runs what is inside")


def note_yield(frame: Frame) -> None:
    """A context manager yields here."""
    noted = frame.notes.of(FirstRanks)
    noted.first_rank = noted.first_rank or frame.memory.control.first_rank


def inside(frame: Frame, node: cst.With, before: Control) -> Control:
    """The control in the block of a `with` statement: whether all ranks get there together, or one of them first."""
    control = before
    for item in node.items:
        scope = _scope(frame, item.item)
        if not scope:
            continue
        if scope not in _NOT_ORDERED:
            provenance = one_by_one(frame, node)
            control = control.under(Control(Uniformity.DIVERGENT, provenance))
        control = control.within_first_rank(FirstRank(scope, item, frame.module))
    return control


def has_turns(frame: Frame, node: cst.With) -> bool:
    """Whether the ranks are known to run the block of a `with` statement one after the other."""
    return any(_scope(frame, item.item) not in _NOT_ORDERED for item in node.items)


def _scope(frame: Frame, item: cst.BaseExpression) -> str:
    calls = frame.notes.of(FirstRanks).calls
    if not calls:
        return ""
    operands = (item.body, item.orelse) if isinstance(item, cst.IfExp) else (item,)
    return next((calls[id(each)] for each in operands if id(each) in calls), "")


def note_unknown(frame: Frame, item: cst.BaseExpression, value: Value) -> None:
    """A context manager that is bound to a name, or whose source is not available, may let one rank go first."""
    if _scope(frame, item):
        return
    scope = value.scope if isinstance(value, FirstRankContext) else ""
    is_project_object = isinstance(value, ProjectInstance)
    is_named = isinstance(value, IterableValue) and not isinstance(item, cst.Call)
    if scope or is_project_object or is_named or value.is_unknown:
        frame.notes.of(FirstRanks).calls[id(item)] = scope or "unknown"


def control_after_block(before: Control, end: Control, inner: Control) -> Control:
    """The control after a block that was entered with `inner`, and is left with `end`."""
    if end is inner or inner.uniformity > before.uniformity:
        return before
    return end.with_modes(before.modes).with_first_rank(before.first_rank)


def first_rank_after(
    before: Control, branches: Iterable[Control], waits: tuple[Sequence[SyncPoint], Sequence[SyncPoint]], test: Control
) -> FirstRank | None:
    """The first rank after an `if` whose test divides the ranks.

    branches: the controls at the ends of its branches, if they reach the end. waits: their synchronisation points.
    """
    by_rank = Origin.RANK in test.rank.origins or (
        test.uniformity is Uniformity.UNKNOWN and not _asks_for_several(test)
    )
    if test.uniformity and by_rank and sum(_barriers(points) for points in waits) % 2:
        return _toggled(before)
    found: Iterator[FirstRank | None] = (
        branch.first_rank for branch in branches if branch.first_rank is not before.first_rank
    )
    return next(found, before.first_rank)


def _asks_for_several(test: Control) -> bool:
    """Whether an unknown condition lets all ranks of a job in, by its names: `if args.distributed: dist.barrier()`."""
    node = place_of(test)
    return isinstance(node, cst.BaseExpression) and job_flags.asks_for_several(node)


def note_waits(frame: Frame, points: Sequence[SyncPoint]) -> None:
    """A function of the project was called, which has reached these synchronisation points."""
    if _barriers(each for each in points if not each.certain) % 2:
        frame.memory.control = frame.memory.control.with_first_rank(_toggled(frame.memory.control))


def _barriers(points: Iterable[SyncPoint]) -> int:
    return sum(each.kind == "barrier" or (each.kind == HIDDEN and MAY_WAIT.fits(each.name)) for each in points)


def _toggled(before: Control) -> FirstRank | None:
    """The first rank after an unpaired barrier, which begins the "barrier" scope or ends it."""
    if before.first_rank is None:
        return FirstRank(BARRIER, None, None)
    return None if before.first_rank.scope == BARRIER else before.first_rank


def note_manager(frame: Frame, function: FunctionInfo, entry: Control) -> None:
    """A context manager of the project yields: inside another first-rank block, or one that has a barrier."""
    noted = frame.notes.of(FirstRanks)
    if noted.first_rank is not None and noted.first_rank is not entry.first_rank:
        function.first_rank = "job" if noted.first_rank.scope == BARRIER else noted.first_rank.scope
    elif noted.has_barrier:
        function.first_rank = "job"
    frame.engine.note_stored(FirstRanks, function, function.first_rank)


def first_rank_key(control: Control) -> Hashable:
    """A key for call contexts that distinguishes first-rank scopes."""
    leader = control.first_rank
    # Only contexts of one rank per node are reported where they are, and so have to be distinguished.
    return None if leader is None else (leader.scope, id(leader.node) if leader.scope == "node" else None)

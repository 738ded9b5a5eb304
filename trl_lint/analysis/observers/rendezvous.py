"""Rendezvous: whether all ranks reach the same synchronisation points, in the same order, on every branch.

    if accelerator.is_main_process:       branches: [gathered] and []
        accelerator.gather(loss)          Divergence at the call: the others do not reach `gather`
    if labels.numel() == 0:
        return 0.0                        branches: [] and, for the rest of the function, [gathered]
    accelerator.gather(loss)              Divergence at the `return` (after=True)

Each run of a function lists its synchronisation points in program order (`collective_order`), and here the conditions
that divide the ranks. At its end the sequences of the two branches of each condition are compared, as PARCOACH does for
MPI: if they are the same, the code is correct; else the first synchronisation point that one of them lacks is reported
to the rules. A branch that leaves early (`return`, `break`, `continue`) lacks everything after the condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import Divergence, Event
from trl_lint.analysis.program.idioms.broadcast_orders import are_awaited
from trl_lint.analysis.program.idioms.counted_turns import is_limited_in, loop_of_turns, steps_by_processes
from trl_lint.analysis.program.idioms.cut_loops import may_be_cut
from trl_lint.analysis.program.idioms.endless_loops import start_over
from trl_lint.analysis.program.idioms.finished_steps import are_made_up_for
from trl_lint.analysis.program.idioms.gathering_blocks import may_be_whole
from trl_lint.analysis.program.idioms.groups_of_one import groups_of, have_one_rank
from trl_lint.analysis.program.idioms.handled_errors import names_out_of_memory
from trl_lint.analysis.program.idioms.path_conditions import (
    branch_of,
    conditions_around,
    contradiction,
    exits_in,
    parts_of,
    set_before,
)
from trl_lint.analysis.program.idioms.path_constraints import can_hold_together, constraints_on_path
from trl_lint.analysis.program.idioms.repeated_exits import leave_together
from trl_lint.analysis.program.idioms.sent_answers import leave_by_answer
from trl_lint.analysis.program.syntax import ancestors, below, precedes
from trl_lint.analysis.state.early_exits import ways_out, word_of
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.fork_paths import Fork, Forks, alternatives, waits_for_others
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.half_waits import is_matched_by_other_half, record_half_waits
from trl_lint.analysis.state.observing import Branch, End, Exit, Observer
from trl_lint.analysis.state.point_sequences import (
    BranchPoints,
    but_made_again,
    but_met_once,
    certainly_synchronises,
    conditional_points_before,
    first_unmatched,
    met_after_end,
    of_one_way,
    with_loops_alike,
)
from trl_lint.analysis.transfer.data.tested_numbers import calls_for_numbers, is_on_outputs
from trl_lint.analysis.transfer.processes.decided_branches import is_decided_before, not_met_by_all, outcome_on_first
from trl_lint.analysis.transfer.processes.raised_counters import raised_by
from trl_lint.domain.constants import OnOneProcess
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.provenance import RankLocalFile, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import HIDDEN, SyncPoint

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module


class Branches:
    """The conditions of a run, by their tests; a later pass over a loop replaces an earlier one."""

    def __init__(self) -> None:
        self.by_test: dict[tuple[int, tuple[int, ...]], BranchPoints] = {}


class Mismatch(NamedTuple):
    """A condition whose two branches have different sequences, the first missing point, whether it is in a branch.

    also_missing: the first points that are missing in alternative paths, if branches contain them, too.
    leaving: the statement by which ranks leave, if it is not any of the branch. by_buffers: whether they make up for
    what they miss unless a forward before it broadcasts buffers.
    """

    branch_points: BranchPoints
    point: SyncPoint
    is_in_branch: bool
    also_missing: tuple[SyncPoint, ...] = ()
    leaving: Exit | End | None = None
    by_buffers: bool = False


class Rendezvous(Observer["Frame"]):
    emits = frozenset({Divergence})

    def on_branch(self, frame: Frame, branch: Branch) -> None:
        # A file that a setting or a parameter names usually exists for all ranks or for none, and so does one that
        # they have agreed on before.
        if branch.origins == Origin.IO and not isinstance(source_step(branch.provenance), RankLocalFile):
            return
        first, second, end = branch.marks
        ends = (frame.sync_points[first:second], frame.sync_points[second:end])
        arms, index = not_met_by_all(frame, branch, ends), frame.unroll_index
        frame.notes.of(Branches).by_test[(id(branch.test), index)] = BranchPoints(branch, arms, index)

    def on_fork(self, frame: Frame, test: cst.CSTNode, marks: tuple[int, int, int], through: tuple[bool, bool]) -> None:
        first, second, end = marks
        arms = (frame.sync_points[first:second], frame.sync_points[second:end])
        frame.notes.of(Forks).by_test[id(test)] = Fork(test, arms, frame.sync_points[:end], through)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """A rank that misses a point where a `with` block is entered may reach one where it is left."""
        return [each for each in events if not is_matched_by_other_half(each)]

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        """Emit an event for each condition whose two branches have different sequences."""
        if not frame.sync_points:
            return
        record_half_waits(frame, frame.notes.of(Branches).by_test.values())
        emitted: set[int] = set()
        if decorated.uniformity is Uniformity.DIVERGENT and before.uniformity is not Uniformity.DIVERGENT:
            _emit_decorated(frame, decorated, emitted)
        branches = frame.notes.of(Branches).by_test.values()
        mismatches = [
            mismatch for branch_points in branches if (mismatch := _mismatch(frame, branch_points)) is not None
        ]
        for mismatch in mismatches:
            if mismatch.is_in_branch and id(mismatch.point.node) in emitted:
                continue
            if any(_is_matched_elsewhere(frame, mismatch, other) for other in mismatches):
                continue
            if _is_matched_at_fork(frame, mismatch) or _is_awaited_outside(frame, mismatch):
                continue
            if mismatch.is_in_branch:
                emitted.update(id(each.node) for arm in mismatch.branch_points.arms for each in arm)
            for point in (mismatch.point, *mismatch.also_missing):
                _emit(frame, mismatch, point)


def _emit(frame: Frame, mismatch: Mismatch, point: SyncPoint) -> None:
    branch, after = mismatch.branch_points.branch, not mismatch.is_in_branch
    side = branch.continuing ^ 1 if after else int(point not in mismatch.branch_points.arms[0])
    leaving = mismatch.leaving or branch.exit_of(side) if after else None
    frame.emit(
        Divergence,
        (leaving or branch.test) if after else point.node,
        tag=id(branch.test),
        condition=branch.provenance,
        by=branch.by,
        holds=side == 0,
        sync_point=point,
        after=after,
        exit=word_of(leaving),
        may_stay=branch.through[side],
        by_buffers=mismatch.by_buffers,
        caught=branch.tried is not None and point.kind == "backward" and point not in mismatch.branch_points.arms[0],
        origins=branch.origins,
        missing=_missing(frame, mismatch),
        knows_sharding=_knows_sharding(frame, point),
        node_values=frame.node_values,
        on_outputs=is_on_outputs(frame, branch.test),
        asks_for_numbers=calls_for_numbers(frame, branch.test),
    )


def _emit_decorated(frame: Frame, decorated: Control, emitted: set[int]) -> None:
    """Emit an event for the first point that some ranks miss, and for the first one under any engine."""
    points = [each for each in frame.sync_points if certainly_synchronises(each, decorated.rank.origins)]
    for point in dict.fromkeys((*points[:1], *[each for each in points if not each.engines][:1])):
        emitted.update(id(each.node) for each in frame.sync_points)
        frame.emit(
            Divergence,
            point.node,
            condition=decorated.provenance,
            by=DividedBy.DECORATOR,
            sync_point=point,
            knows_sharding=_knows_sharding(frame, point),
        )


def _mismatch(frame: Frame, branch_points: BranchPoints) -> Mismatch | None:
    branch = branch_points.branch
    inside = {id(point) for arm in branch_points.arms for point in arm}
    sequences = _sequences(frame, branch_points, inside)
    unmatched = None if branch.refused else first_unmatched(sequences[0], sequences[1], branch)
    leaving = None
    for way in ways_out(frame.root, branch, branch_points.arms) if unmatched is None else ():
        sequences[branch.continuing ^ 1], leaving = way.points, way.leaving
        if (unmatched := first_unmatched(sequences[0], sequences[1], branch)) is not None:
            break
    found = _skipped_backward(frame, branch_points) or unmatched
    if found is None or not (branch.refused or _may_fail_on_some(frame, branch)):
        return None
    if _is_decided_before(frame, branch_points) or (
        branch.skipped == (0, 0) and _always_synchronise(frame, sequences, branch_points)
    ):
        return None
    is_in_branch = id(found) in inside
    if is_in_branch and _takes_turns(frame, branch, found):
        return None
    exits = () if is_in_branch else branch.exits[branch.continuing ^ 1]
    nodes = [each.node for each in frame.sync_points if not each.alone]
    if branch.by is DividedBy.SHARE and may_be_cut(frame.root, branch.test, found.node, nodes):
        return None
    raised = partial(raised_by, frame)
    if start_over(frame.root, exits, nodes) or are_made_up_for(frame.root, exits, nodes, raised):
        return None
    if any(leave(frame.root, branch.test, exits, nodes) for leave in (leave_together, leave_by_answer)):
        return None
    return Mismatch(
        branch_points,
        found,
        is_in_branch,
        _also_missing(frame, found, sequences, branch_points) if is_in_branch else (),
        leaving,
        are_made_up_for(frame.root, exits, _but_forwards_before(frame, exits), raised),
    )


def _but_forwards_before(frame: Frame, exits: Sequence[Exit | End]) -> Iterator[cst.CSTNode]:
    """Where a run synchronises, without the forwards that a rank has run when it leaves."""
    for point in (each for each in frame.sync_points if not each.alone):
        if point.kind != "forward" or not any(precedes(frame.root, point.node, each) for each in exits):
            yield point.node


def _sequences(frame: Frame, branch_points: BranchPoints, inside: set[int]) -> list[list[SyncPoint]]:
    """The synchronisation points of the two branches, and for one that continues, of what comes after the condition.

    inside: the ids of those that are in a branch.
    """
    branch = branch_points.branch
    sequences = of_one_way(branch_points, frame.notes.of(Branches).by_test.values())
    sequences[0] = but_made_again(sequences[0], branch.tried, frame.sync_points[: branch.marks[0]])
    if branch.may_leave[branch.continuing ^ 1] and any(branch.through):
        # A branch that leaves lacks what comes after; one that may leave is treated as if it did.
        sequences[branch.continuing] += _rest(frame, branch_points, inside)
    else:
        sequences[branch.continuing] += met_after_end(frame.root, branch_points, frame.sync_points)
    if any(each.unroll_index != branch_points.unroll_index for points in sequences for each in points):
        sequences = with_loops_alike(frame.root, sequences, branch_points)
    groups = groups_of(branch.test, partial(_differs, frame)) if branch.origins == Origin.RANK else frozenset[str]()
    if not groups:
        return sequences
    return [[each for each in points if not have_one_rank(frame.root, groups, each.node)] for points in sequences]


def _rest(frame: Frame, branch_points: BranchPoints, inside: set[int]) -> list[SyncPoint]:
    points = branch_points.branch.points_after(frame.sync_points)
    rest = [each for each in points if id(each) not in inside and branch_points.is_before(each)]
    rest = but_met_once(rest, frame.sync_points[: branch_points.branch.marks[2]], frame.module.tree)
    return [each for each in rest if not _is_not_reached_after(frame, branch_points, each)]


def _differs(frame: Frame, part: cst.CSTNode) -> bool:
    """Whether a part of a condition is known to differ between ranks."""
    return frame.value_of(part).rank.differs


def _takes_turns(frame: Frame, branch: Branch, point: SyncPoint) -> bool:
    """Whether each rank reaches a point equally often in a loop, if not in the same iterations.

    That is enough where nothing else in the loop synchronises the ranks.
    """

    def differs(part: cst.CSTNode) -> bool:
        value = frame.known_value(part)
        return value is None or value.rank.differs

    if any(branch.may_leave):
        return False
    if branch.by is DividedBy.LOOP and steps_by_processes(frame.root, frame.cls, branch.test, frame.node_values):
        return True
    if branch.by.is_loop:
        around = (each for each in ancestors(frame.root, point.node) if isinstance(each, cst.For))
        loop = next((each for each in around if each.iter is branch.test), None)
        loop = loop if loop is not None and is_limited_in(frame.root, loop, point.node, differs) else None
    else:
        loop = loop_of_turns(frame.root, branch.test, differs)
    inside = {id(each) for each in below(loop)} if loop is not None else set()
    points = (each for each in frame.sync_points if id(each.node) in inside and each.node is not point.node)
    return bool(inside) and all(each.kind == point.kind or each.alone for each in points)


def _also_missing(
    frame: Frame, found: SyncPoint, sequences: Sequence[Sequence[SyncPoint]], branch_points: BranchPoints
) -> tuple[SyncPoint, ...]:
    """The points that are missing in alternatives: in the other branch, and on the other paths through forks."""
    one, other = _paths(frame, branch_points, sequences)
    inside = {id(point) for arm in branch_points.arms for point in arm}
    firsts = (
        first_unmatched(mine, theirs, branch_points.branch)
        for mine_paths, other_paths in ((one, other), (other, one))
        for mine in mine_paths
        for theirs in other_paths
    )
    known = {found.node: found}
    limited = (point for arm in branch_points.arms for point in conditional_points_before(found, arm))
    first_points = (*firsts, *limited)
    known.update((point.node, point) for point in first_points if point is not None and id(point) in inside)
    return tuple(known.values())[1:]


def _paths(
    frame: Frame, branch_points: BranchPoints, sequences: Sequence[Sequence[SyncPoint]]
) -> Iterator[list[list[SyncPoint]]]:
    """The sequences that ranks in each of two branches may have.

    The forks in one branch are none of the other, unless that goes on behind it: who has left is not there.
    """
    sides = [{id(branch_points.branch.test): side} for side in (0, 1)]
    goes_on = any(len(way) > len(arm) for way, arm in zip(sequences, branch_points.arms, strict=True))
    return (alternatives(frame, way, {} if goes_on else side) for way, side in zip(sequences, sides, strict=True))


def _is_not_reached_after(frame: Frame, branch_points: BranchPoints, point: SyncPoint) -> bool:
    """Whether no rank reaches a point after some have left: on all ranks it takes what keeps them from leaving."""
    root, branch = frame.root, branch_of(frame.root, branch_points.branch.test)
    around = conditions_around(root, point.node) if branch is not None else []
    if branch is None or not around:
        return False
    if contradiction(set_before(root, branch), around) is not None:
        return True
    agreed = [each for each in around if (value := frame.known_value(each.test)) is not None and not value.rank.differs]
    paths = (constraints_on_path(root, leaving) for leaving in exits_in(branch))
    return not any(can_hold_together(root, [*path, *agreed]) for path in paths)


def _is_decided_before(frame: Frame, branch_points: BranchPoints) -> bool:
    """Whether all ranks that reach a condition take the same branch, and the other one has no points."""
    branch, others = branch_points.branch, (each.branch for each in frame.notes.of(Branches).by_test.values())
    outcome = outcome_on_first(frame, branch.test)
    if outcome is not None and not branch_points.arms[1 if outcome else 0]:
        return True
    return is_decided_before(frame, branch.test, others)


def _skipped_backward(frame: Frame, branch_points: BranchPoints) -> SyncPoint | None:
    """The backward pass of a training step that a rank skips if it catches an exception of its own forward, or leaves
    in the middle if its memory runs out there: the others wait for the gradients that it has not reduced by then.
    """
    start, end = branch_points.branch.skipped
    in_handler = {point.kind for point in branch_points.arms[0]}
    if in_handler & {"backward", HIDDEN}:
        return None
    tried = [point for point in frame.sync_points[start:end] if point.certain]
    if branch_points.branch.refused and not any(point.kind == "forward" for point in tried):
        return None
    return next((point for point in tried if point.kind == "backward"), None)


def _always_synchronise(frame: Frame, sequences: Sequence[Sequence[SyncPoint]], branch_points: BranchPoints) -> bool:
    """Whether two paths have the same sequence, whichever branches all ranks take at the forks in them."""
    one, other = _paths(frame, branch_points, sequences)

    def matches(path: Sequence[SyncPoint], among: Sequence[Sequence[SyncPoint]]) -> bool:
        return any(first_unmatched(path, each, branch_points.branch) is None for each in among)

    return all(matches(way, other) for way in one) and all(matches(way, one) for way in other)


def _may_fail_on_some(frame: Frame, branch: Branch) -> bool:
    """Whether a `try` may raise on some ranks: its body uses rank-local data, or it handles running out of memory."""
    if branch.tried is None or names_out_of_memory(branch.test):
        return True
    facts = (frame.node_values[id(node)].rank for node in below(branch.tried) if id(node) in frame.node_values)
    return any(rank.differs and bool(rank.origins & ~(Origin.RANK | Origin.IO)) for rank in facts)


def _is_matched_elsewhere(frame: Frame, one: Mismatch, other: Mismatch) -> bool:
    """Whether the ranks that miss one point reach an equal one elsewhere: `if not main: barrier()` twice."""
    if other.point is one.point or not (one.is_in_branch and other.is_in_branch):
        return False
    if other.point.kind != one.point.kind or not (one.branch_points.is_guard and other.branch_points.is_guard):
        return False
    tests = [each.branch_points.branch.test for each in (one, other)]
    arms = [bool(each.point not in each.branch_points.arms[0]) for each in (one, other)]
    code_for_node = frame.module.tree.code_for_node
    guards = [_rank_dependent_parts(frame, each) for each in tests]
    if not set(map(code_for_node, guards[0])).isdisjoint(map(code_for_node, guards[1])):
        return arms[0] is not arms[1] and code_for_node(tests[0]) == code_for_node(tests[1])
    # Whether one process reaches each of the two.
    reached = [
        {bool(known.value) is not is_else for known in map(partial(_on_one_process, frame), guard) if known is not None}
        for guard, is_else in zip(guards, arms, strict=True)
    ]
    return reached[0].isdisjoint(reached[1])


def _is_matched_at_fork(frame: Frame, mismatch: Mismatch) -> bool:
    """Whether the ranks that miss a point reach an equal one where it is not known that only they do."""
    branch, arms = mismatch.branch_points.branch, mismatch.branch_points.arms
    is_asked = mismatch.is_in_branch and mismatch.branch_points.is_guard and mismatch.point in arms[0]
    return is_asked and waits_for_others(frame, branch.test, mismatch.point.kind)


def _on_one_process(frame: Frame, node: cst.CSTNode) -> OnOneProcess | None:
    value = frame.known_value(node)
    return None if value is None else single_process_value(value)


def _is_awaited_outside(frame: Frame, mismatch: Mismatch) -> bool:
    """Whether the ranks that miss a point in a nested function wait for it in a loop of the enclosing function."""
    branch, around = mismatch.branch_points.branch, frame.outer
    if not mismatch.is_in_branch or branch.origins != Origin.RANK:
        return False
    is_true = mismatch.point in mismatch.branch_points.arms[0]
    while around is not None and around.function is not None:
        if are_awaited(around.root, branch.test, is_true, mismatch.point.node):
            return True
        around = around.outer
    return False


def _rank_dependent_parts(frame: Frame, test: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a condition that differ between ranks: `dist.is_initialized()` does not."""
    values = ((each, frame.known_value(each)) for each in parts_of(test))
    return [each for each, value in values if value is None or value.rank.differs]


def _knows_sharding(frame: Frame, point: SyncPoint) -> bool:
    """Whether a function handles sharded parameters: it tests for, or names, what shards them, or has gathered them.

    Gathering is sufficient where parameters are saved. A checkpoint is written by all ranks under each stage of ZeRO.
    """
    if frame.asks_for_engine or TrainingEngine.DEEPSPEED in point.engines:
        return frame.asks_for_engine
    gathering = [each for each in frame.sync_points if each.kind == "parameters"]
    return any(not each.certain or may_be_whole(frame.root, each, point.node) for each in gathering)


def _missing(frame: Frame, mismatch: Mismatch) -> tuple[SyncPoint, ...]:
    """All synchronisation points that ranks may not reach because of a condition, if one of its branches has none."""
    branch_points = mismatch.branch_points
    if all(branch_points.arms):
        return ()
    arms = tuple(point for arm in branch_points.arms for point in arm)
    if not any(branch_points.branch.may_leave):
        return arms
    return (*arms, *(each for each in frame.sync_points if each not in arms and branch_points.is_before(each)))


OBSERVER = Rendezvous()

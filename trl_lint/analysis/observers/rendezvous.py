"""Rendezvous: whether all ranks come to the same synchronisation points, in the same order, whichever way they go.

    if accelerator.is_main_process:       ways: [gathered] and []
        accelerator.gather(loss)          Divergence at the call: the others do not reach `gather`
    if labels.numel() == 0:
        return 0.0                        ways: [] and, as they go on, [gathered]
    accelerator.gather(loss)              Divergence at the condition (after=True)

Each run of a function lists its synchronisation points in program order (`collective_order`), and here the branches
that the ranks may take differently. At its end the sequences of the two ways through each branch are compared, as
PARCOACH does for MPI: ways with the same sequence are right code, else the first synchronisation point that one of
them lacks is told to the rules. A way that leaves early (`return`, `break`, `continue`) lacks all that comes after the
branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.events import Divergence, steps
from trl_lint.analysis.program.syntax import below
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch, Observer
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.provenance import OwnFile
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import HIDDEN, SyncPoint, place_of

# So many ways through the forks of a function are told apart, else none.
_MAX_ALTERNATIVES = 16


class Ways(NamedTuple):
    """A branch with the synchronisation points of its two ways, and in which rounds of loops it stands."""

    branch: Branch
    arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
    unroll_index: tuple[int, ...]


class Branches:
    """The branches of a run, by their tests; a later pass over a loop replaces an earlier one's."""

    def __init__(self) -> None:
        self.by_test: dict[tuple[int, tuple[int, ...]], Ways] = {}


class Fork(NamedTuple):
    """A branch that all ranks may take alike: the points of its two ways, those before its end, which ways reach that.

    The points of one way stand beside those of the other, and not after them.
    """

    arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
    until: Sequence[SyncPoint]
    through: tuple[bool, bool]


class Forks:
    """The forks of a run, by their tests."""

    def __init__(self) -> None:
        self.by_test: dict[int, Fork] = {}


class Parting(NamedTuple):
    """A branch whose two ways do not meet the same, the first point that is missing, and whether it is in an arm.

    besides: the first points that are missing in alternatives to that one, which are in arms, too.
    """

    ways: Ways
    point: SyncPoint
    in_arm: bool
    besides: tuple[SyncPoint, ...] = ()


class Rendezvous(Observer["Frame"]):
    emits = frozenset({Divergence})

    def on_branch(self, frame: Frame, branch: Branch) -> None:
        # What a setting or a parameter names on the disk is there for all ranks or for none, as a rule, and so is what
        # they have agreed on before.
        if branch.origins == Origin.IO and not isinstance(steps(branch.why)[0], OwnFile):
            return
        first, second, end = branch.marks
        arms = (frame.sync_points[first:second], frame.sync_points[second:end])
        index = frame.unroll_index
        frame.notes.of(Branches).by_test[(id(branch.test), index)] = Ways(branch, arms, index)

    def on_fork(self, frame: Frame, test: cst.CSTNode, marks: tuple[int, int, int], through: tuple[bool, bool]) -> None:
        first, second, end = marks
        arms = (frame.sync_points[first:second], frame.sync_points[second:end])
        frame.notes.of(Forks).by_test[id(test)] = Fork(arms, frame.sync_points[:end], through)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        """Tell the rules of each branch whose two ways do not meet the same."""
        if not frame.sync_points:
            return
        told: set[int] = set()
        if decorated.uniformity is Uniformity.DIVERGENT and before.uniformity is Uniformity.UNIFORM:
            _tell_decorated(frame, decorated, told)
        branches = frame.notes.of(Branches).by_test.values()
        partings = [parting for ways in branches if (parting := _parting(frame, ways)) is not None]
        for parting in partings:
            if parting.in_arm and id(parting.point.node) in told:
                continue
            if any(_makes_up_for(frame, parting, other) for other in partings):
                continue
            if parting.in_arm:
                told.update(id(each.node) for arm in parting.ways.arms for each in arm)
            for point in (parting.point, *parting.besides):
                _tell(frame, parting, point)


def _tell(frame: Frame, parting: Parting, point: SyncPoint) -> None:
    branch = parting.ways.branch
    frame.emit(
        Divergence,
        point.node if parting.in_arm else branch.test,
        tag=id(branch.test),
        condition=branch.why,
        sync_point=point,
        after=not parting.in_arm,
        one_by_one=branch.one_by_one,
        origins=branch.origins,
        missing=_missing(frame, parting),
        knows_sharding=_knows_sharding(frame),
        seen=frame.node_values,
    )


def _tell_decorated(frame: Frame, decorated: Control, told: set[int]) -> None:
    point = next((each for each in frame.sync_points if _counts(each, decorated.rank.origins)), None)
    if point is not None:
        told.update(id(each.node) for each in frame.sync_points)
        sharding = _knows_sharding(frame)
        frame.emit(Divergence, point.node, condition=decorated.why, sync_point=point, knows_sharding=sharding)


def _parting(frame: Frame, ways: Ways) -> Parting | None:
    branch = ways.branch
    inside = {id(point) for arm in ways.arms for point in arm}
    rest = [each for each in frame.sync_points if id(each) not in inside and _comes_after(each, ways)]
    each_way = [list(arm) for arm in ways.arms]
    if any(branch.leaves) and any(branch.through):
        # A way that leaves lacks what comes after the branch; one that only may leave is asked as if it did.
        staying = branch.through.index(True) if not all(branch.through) else branch.leaves.index(True) ^ 1
        each_way[staying] += rest
    found = _first_unmatched(each_way[0], each_way[1], branch)
    if found is None or (branch.tried is not None and not _works_on_own_data(frame, branch.tried)):
        return None
    if _meet_whichever(frame, each_way, branch):
        return None
    in_arm = id(found) in inside
    return Parting(ways, found, in_arm, _besides(frame, found, each_way, ways) if in_arm else ())


def _besides(
    frame: Frame, found: SyncPoint, each_way: Sequence[Sequence[SyncPoint]], ways: Ways
) -> tuple[SyncPoint, ...]:
    """What is missing in the other alternatives: in the other arm, and where the ways fork once more."""
    one, other = (_alternatives(frame, way) for way in each_way)
    inside = {id(point) for arm in ways.arms for point in arm}
    firsts = (
        _first_unmatched(mine, theirs, ways.branch)
        for here, there in ((one, other), (other, one))
        for mine in here
        for theirs in there
    )
    known = {found.node: found}
    known.update((point.node, point) for point in firsts if point is not None and id(point) in inside)
    return tuple(known.values())[1:]


def _meet_whichever(frame: Frame, each_way: Sequence[Sequence[SyncPoint]], branch: Branch) -> bool:
    """Whether two ways meet the same, whichever way all ranks take at the forks in them."""
    one, other = (_alternatives(frame, way) for way in each_way)

    def meets(way: Sequence[SyncPoint], among: Sequence[Sequence[SyncPoint]]) -> bool:
        return any(_first_unmatched(way, each, branch) is None for each in among)

    return all(meets(way, other) for way in one) and all(meets(way, one) for way in other)


def _alternatives(frame: Frame, way: Sequence[SyncPoint]) -> list[list[SyncPoint]]:
    """What a way may come to: of each fork in it one of its two ways."""
    found = [list(way)]
    for fork in frame.notes.of(Forks).by_test.values():
        parts = not all(fork.through) or any(point in way for arm in fork.arms for point in arm)
        if parts and len(found) == _MAX_ALTERNATIVES:
            return [list(way)]
        if parts:
            found = [_taking(fork, arm, each) for each in found for arm in (0, 1)]
    return found


def _taking(fork: Fork, arm: int, way: Sequence[SyncPoint]) -> list[SyncPoint]:
    """A way where this arm of a fork is taken."""
    left = {id(point) for point in fork.arms[1 - arm]}
    if not fork.through[arm]:
        before = {id(point) for point in fork.until}
        left |= {id(point) for point in way if id(point) not in before}
    return [point for point in way if id(point) not in left]


def _works_on_own_data(frame: Frame, body: cst.CSTNode) -> bool:
    """Whether some value in the body of a `try` differs between ranks, so that it may raise on some of them."""
    return any(frame.node_values[id(node)].rank.differs for node in below(body) if id(node) in frame.node_values)


def _makes_up_for(frame: Frame, one: Parting, other: Parting) -> bool:
    """Whether the ranks that one branch leaves out meet the others at another: `if not main: barrier()` twice."""
    if other.ways is one.ways or not (one.in_arm and other.in_arm):
        return False
    if other.point.kind != one.point.kind or not _is_guard(one.ways) or not _is_guard(other.ways):
        return False
    code_for_node = frame.module.tree.code_for_node
    return code_for_node(one.ways.branch.test) != code_for_node(other.ways.branch.test)


def _is_guard(ways: Ways) -> bool:
    return ways.branch.origins == Origin.RANK and not any(ways.branch.leaves) and not all(ways.arms)


def _knows_sharding(frame: Frame) -> bool:
    """Whether a function takes care of sharded parameters: it asks, or says, what shards them, or it gathers them."""
    return frame.asks_for_engine or any(each.kind == "parameters" for each in frame.sync_points)


def _missing(frame: Frame, parting: Parting) -> tuple[SyncPoint, ...]:
    """All synchronisation points that ranks may not reach because of a branch, if one of its ways has none."""
    ways = parting.ways
    if all(ways.arms):
        return ()
    arms = tuple(point for arm in ways.arms for point in arm)
    if not any(ways.branch.leaves):
        return arms
    inside = {id(point) for point in arms}
    return (*arms, *(each for each in frame.sync_points if id(each) not in inside and _comes_after(each, ways)))


def _first_unmatched(one: Sequence[SyncPoint], other: Sequence[SyncPoint], branch: Branch) -> SyncPoint | None:
    """The first point that one of two ways has and the other has not, if it is certain that it lacks it."""
    if any(point.kind == HIDDEN for point in (*one, *other)):
        seen, opposite = _without_hidden(one, other), _without_hidden(other, one)
        if seen is None or opposite is None:
            return None
        one, other = seen, opposite
    if branch.one_by_one:
        return next((each for each in one if each.kind != "barrier" and each.certain), None)
    start = 0
    while start < min(len(one), len(other)) and one[start].kind == other[start].kind:
        start += 1
    lacking = [
        point
        for way, against in ((one[start:], other[start:]), (other[start:], one[start:]))
        for point in _unmatched(way, against)
        if _counts(point, branch.origins)
    ]
    return min(lacking, key=lambda point: point.only_sharded, default=None)


def _unmatched(way: Sequence[SyncPoint], against: Sequence[SyncPoint]) -> Iterator[SyncPoint]:
    """The points of a way that the other way has not; those in another order are not counted."""
    kinds = [each.kind for each in against]
    for point in way:
        if point.kind in kinds:
            kinds.remove(point.kind)
        else:
            yield point


def _without_hidden(way: Sequence[SyncPoint], against: Sequence[SyncPoint]) -> list[SyncPoint] | None:
    """A way less the calls that are not in sight; None if the other way's may happen in these."""
    known = [point for point in way if point.kind != HIDDEN]
    hidden_here = len(known) < len(way)
    more = sum(point.kind != HIDDEN for point in against) > len(known)
    return None if hidden_here and more else known


def _counts(point: SyncPoint, origins: Origin) -> bool:
    """Whether it is known that all ranks meet there: a rank may be asked whether it belongs to a group."""
    if point.subgroup and Origin.RANK in origins:
        return False
    return point.certain and point.kind != HIDDEN


def _comes_after(point: SyncPoint, ways: Ways) -> bool:
    """Whether a point is reached past the branch: the branch is one of the conditions of its place."""
    if point.unroll_index[: len(ways.unroll_index)] != ways.unroll_index:
        return False
    return any(place_of(each) is ways.branch.test for each in point.control.conditions)


OBSERVER = Rendezvous()

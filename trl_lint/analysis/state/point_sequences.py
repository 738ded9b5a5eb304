"""Sequences of synchronisation points: whether two branches reach the same ones, in the same order.

For example:

    gather(loss); barrier()               one branch
    barrier()                             the other: `gather` is missing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.idioms.made_once import is_made_once
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches
from trl_lint.analysis.program.syntax import ancestors, below, callee_of, last_name, of_class, precedes
from trl_lint.analysis.state.observing import Branch
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.provenance import steps
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SENT, UNSEEN, SyncPoint
from trl_lint.knowledge import heuristics

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value

_LOOPS = (cst.For, cst.While, cst.BaseComp)


class BranchPoints(NamedTuple):
    """A condition with the synchronisation points of its two branches, and the loop iterations in which it is."""

    branch: Branch
    arms: tuple[Sequence[SyncPoint], Sequence[SyncPoint]]
    unroll_index: tuple[int, ...]

    @property
    def is_guard(self) -> bool:
        """Whether the rank decides, both branches go on, and one of them has no points."""
        is_by_rank = self.branch.origins == Origin.RANK and self.branch.by is not DividedBy.SHARE
        return is_by_rank and not any(self.branch.may_leave) and not all(self.arms)

    def is_before(self, point: SyncPoint) -> bool:
        """Whether a point is after the condition: the condition is one of those under which it is reached."""
        if point.unroll_index[: len(self.unroll_index)] != self.unroll_index:
            return False
        return id(self.branch.test) in point.tests


def one_of_calls(frame: Frame, node: cst.CSTNode, calls: Iterable[Callable[[], Value]]) -> Iterator[Value]:
    """The results of calls of which one is made, each run: ranks meet as in the one that has most points."""
    if not any(isinstance(each, _LOOPS) for each in ancestors(frame.root, node)):
        frame.trace.choices.add(id(node))  # in a loop, it may be another one in each turn
    before = len(frame.sync_points)
    longest: list[SyncPoint] = []
    for call in calls:
        yield call()
        longest = max(longest, frame.sync_points[before:], key=len)
        del frame.sync_points[before:]
    frame.sync_points += longest


def of_one_way(outer: BranchPoints, conditions: Iterable[BranchPoints]) -> list[list[SyncPoint]]:
    """The points of both branches, those of a condition in them once if its own branches have the same ones.

    if rank == 0: barrier()
    elif rank == 1: barrier()             to the first rank, one point
    else: barrier()

    conditions: those of the run, the inner ones first.
    """
    again: set[int] = set()
    for inner in takewhile(lambda each: each is not outer, conditions):
        one, other = ([each.kind for each in arm if id(each) not in again] for arm in inner.arms)
        if one == other:
            again.update(map(id, inner.arms[1]))
    return [[each for each in arm if id(each) not in again] for arm in outer.arms]


def on_way_to(root: cst.CSTNode, points: Sequence[SyncPoint], node: cst.CSTNode) -> list[SyncPoint]:
    """The points that whoever gets to a place has passed, of those before it in a function (or module).

    if rank != 0:
        barrier()                         not this one: the ranks that leave here meet the others at the end
        return
    save()
    barrier()
    """
    exits = list(exits_before(root, node))
    places = {id(each.node): each.node for each in points}  # in loops, many points have the same place
    passed = {
        key
        for key, place in places.items()
        if not are_in_opposite_branches(root, place, node) and not _is_met_by_others(root, exits, place)
    }
    return [each for each in points if id(each.node) in passed]


def _is_met_by_others(root: cst.CSTNode, exits: Sequence[cst.If], node: cst.CSTNode) -> bool:
    """Whether a call is in a branch that leaves, and those that go on make the same one."""
    around = ancestors(root, node) if exits else ()
    leaving = [each for each in exits if any(each is outer for outer in around)]
    name = last_name(callee_of(node))
    again = [each for each in of_class(root, cst.Call) if last_name(each.func) == name] if leaving else []
    return any(precedes(root, each, call) for each in leaving for call in again)


def first_unmatched(one: Sequence[SyncPoint], other: Sequence[SyncPoint], branch: Branch) -> SyncPoint | None:
    """The first point that only one of two branches has, if it is certainly missing in the other."""
    if any(point.kind in UNSEEN for point in (*one, *other)):
        visible, opposite = _without_hidden(one, other), _without_hidden(other, one)
        if visible is None or opposite is None:
            return None
        one, other = visible, opposite
    if branch.by is DividedBy.SEQUENTIAL:
        return next((each for each in one if each.kind != "barrier" and each.certain and not each.alone), None)
    start = 0
    while start < min(len(one), len(other)) and one[start].kind == other[start].kind:
        start += 1
    lacking: list[SyncPoint] = []
    for index, (mine, theirs) in enumerate(((one, other), (other, one))):
        unmatched = _unmatched(mine[start:], theirs[start:])
        is_alone = branch.of_one == index
        awaited = [each for each in unmatched if _is_awaited(each, theirs, branch, is_alone)]
        met = _all_awaited_are_met(mine, theirs, branch) if awaited else frozenset[str]()
        lacking += (each for each in awaited if each.kind not in met)
    return min(lacking, key=_rarity, default=None)


def _is_awaited(point: SyncPoint, opposite: Sequence[SyncPoint], branch: Branch, is_alone: bool = False) -> bool:
    """Whether the ranks that reach a point certainly wait for those of the other branch.

    is_alone: whether it is one rank that reaches it, which is no group, and meets nobody in one.
    """
    return not point.alone and (
        certainly_synchronises(point, branch.origins)
        or (point.by_settings and branch.asks_rank and not point.subgroup)
        or (point.instead and branch.asks_rank and not any(each.kind in point.instead for each in opposite))
        or (point.subgroup and point.certain and _is_of_group_asked(point, opposite, branch.test))
        or (point.of_mesh and point.certain and is_alone and not any(each.subgroup for each in opposite))
    )


def _all_awaited_are_met(side: Sequence[SyncPoint], opposite: Sequence[SyncPoint], branch: Branch) -> frozenset[str]:
    """The kinds of which the other branch has enough points for the certain ones, if not for those that may be none.

    if rank == 0:
        prepare()                         whatever is passed, of which one may call `barrier`
        barrier()                         met by the other one
    else:
        barrier()
    """
    unsure = {each.kind for each in side if not each.certain}
    if not unsure:
        return frozenset()
    awaited = Counter(each.kind for each in side if each.kind in unsure and _is_awaited(each, opposite, branch))
    there = Counter(each.kind for each in opposite)
    return frozenset(kind for kind in unsure if awaited[kind] <= there[kind])


def but_made_again(
    points: Sequence[SyncPoint], tried: cst.CSTNode | None, before: Sequence[SyncPoint]
) -> list[SyncPoint]:
    """The points of an `except` clause that are not the last ones of what is tried, which failed before it made them.

    try:
        loss.backward()                   nothing can fail after it
    except RuntimeError:
        loss.mean().backward()            the ranks that get here meet the others, who wait in the first one

    tried: the body of the `try`, if it is one. before: the points before the clause.
    """
    if not points or not isinstance(tried, cst.BaseSuite):
        return list(points)
    inside, at_end = {id(each) for each in below(tried)}, {id(each) for each in below(tried.body[-1])}
    in_body = [each for each in before if id(each.node) in inside]
    kinds = [each.kind for each in in_body][-len(points) :]
    is_again = kinds == [each.kind for each in points] and id(in_body[-1].node) in at_end
    return [] if is_again else list(points)


def but_met_once(points: Sequence[SyncPoint], before: Sequence[SyncPoint], tree: cst.Module) -> list[SyncPoint]:
    """The points after a condition that are reached there, and not only the first time that a loop comes by.

    if self._model is None: self._model = DDP(self.net)      all ranks have met in it before the condition

    before: the points before the condition, which are reached after it in a later iteration. tree: that of their file.
    """
    earlier = {id(each) for each in before}
    return [each for each in points if id(each) not in earlier or not _is_met_once(each, tree)]


def _is_met_once(point: SyncPoint, tree: cst.Module) -> bool:
    made = next(iter(steps(point.via)), None)
    return is_made_once(tree, point.node) if made is None else is_made_once(made.module.tree, made.node)


def met_after_end(root: cst.CSTNode, ending: BranchPoints, points: Sequence[SyncPoint]) -> list[SyncPoint]:
    """What the ranks that go on reach after a condition, as far as those meet it that end their process in its branch.

    if rank == 0:
        barrier()                         they meet the others
        sys.exit(1)                       and miss nothing after that: an error ends all ranks
    barrier()
    """
    branch, (one, other) = ending.branch, ending.arms
    if branch.by is not DividedBy.CONDITION or branch.through[0] is branch.through[1]:
        return []
    leaving, going_on = (one, other) if branch.through[1] else (other, one)
    awaited, found = [point.kind for point in leaving if point.kind not in UNSEEN], list[SyncPoint]()
    depth = len(ending.unroll_index)
    after = [each for each in points[branch.marks[2] :] if each.unroll_index[:depth] == ending.unroll_index]
    for point in (*going_on, *after):
        if not awaited or are_in_opposite_branches(root, branch.test, point.node):
            continue
        if point.kind == awaited[0] or point.kind in UNSEEN:
            found.append(point)
            awaited = awaited[1:] if point.kind == awaited[0] else awaited
        elif certainly_synchronises(point, branch.origins):
            break
    return [each for each in found if each not in going_on]


def with_loops_alike(
    root: cst.CSTNode, sequences: list[list[SyncPoint]], inside: BranchPoints
) -> list[list[SyncPoint]]:
    """Count what a loop that is run once per item calls as often as an ordinary loop of the other branch is counted.

    if rank == 0:
        for tensor, parts in zip(tensors, received): gather(tensor, parts)       one point
    else:
        for tensor in tensors: gather(tensor)                                    one per tensor, if these are known
    """
    found = [
        {each.kind for each in points if each.unroll_index == inside.unroll_index and _is_in_loop(root, each, inside)}
        for points in sequences
    ]
    return [_once_per_loop(points, kinds, inside) for points, kinds in zip(sequences, reversed(found), strict=True)]


def _is_in_loop(root: cst.CSTNode, point: SyncPoint, inside: BranchPoints) -> bool:
    """Whether a point is in a loop that the condition itself is not in."""
    around = {id(each) for each in ancestors(root, inside.branch.test)}
    loops = (each for each in ancestors(root, point.node) if isinstance(each, _LOOPS))
    return any(id(each) not in around for each in loops)


def _once_per_loop(points: list[SyncPoint], kinds: set[str], inside: BranchPoints) -> list[SyncPoint]:
    kept: list[SyncPoint] = []
    for point in points:
        is_again = any(each.node is point.node and each.kind == point.kind for each in kept)
        if not (is_again and point.kind in kinds and point.unroll_index != inside.unroll_index):
            kept.append(point)
    return kept


def _rarity(point: SyncPoint) -> tuple[bool, bool, int]:
    """Sort points that always synchronise first, then those that may, then those that do only with more engines."""
    return bool(point.engines), is_quiet(point), -len(point.engines)


def is_quiet(point: SyncPoint) -> bool:
    """Whether it is a forward without gradients: it only broadcasts the buffers, if the model has any."""
    return point.kind == "forward" and not point.grad


def _unmatched(branch: Sequence[SyncPoint], other: Sequence[SyncPoint]) -> Iterator[SyncPoint]:
    """The points of a branch that the other one lacks; a different order does not count."""
    kinds = [each.kind for each in other]
    for point in branch:
        if point.kind in kinds:
            kinds.remove(point.kind)
        else:
            yield point


def _without_hidden(branch: Sequence[SyncPoint], other: Sequence[SyncPoint]) -> list[SyncPoint] | None:
    """A branch without its calls of unknown code; None if the other's additional points may happen in these."""
    known = [point for point in branch if point.kind not in UNSEEN]
    has_hidden = len(known) < len(branch)
    other_has_more = sum(point.kind not in UNSEEN for point in other) > len(known)
    return None if (has_hidden and other_has_more) or any(point.kind == SENT for point in (*branch, *other)) else known


def certainly_synchronises(point: SyncPoint, origins: Origin) -> bool:
    """Whether all ranks are known to synchronise there: with a subgroup, a rank may check for its membership first."""
    if point.subgroup and Origin.RANK in origins:
        return False
    return point.certain and not point.alone and point.kind not in UNSEEN


def _is_of_group_asked(point: SyncPoint, opposite: Sequence[SyncPoint], test: cst.CSTNode) -> bool:
    """Whether all ranks that a test divides are in the group of a point: it asks for the rank in this group.

    if dist.get_rank(group) == source: send(x, group)               and both branches communicate in it
    else: send(None, group); send_all(None, group)
    """
    asking = (call for call in of_class(test, cst.Call) if heuristics.is_rank_name(last_name(call.func)))
    groups = [arg.value for call in asking for arg in call.args]
    return any(
        _is_passed(group, point.node) and any(each.subgroup and _is_passed(group, each.node) for each in opposite)
        for group in groups
    )


def _is_passed(value: cst.BaseExpression, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and any(arg.value.deep_equals(value) for arg in node.args)


def conditional_points_before(found: SyncPoint, branch: Sequence[SyncPoint]) -> Iterator[SyncPoint]:
    """The first points of a branch before one that always synchronises which do so in some jobs only.

    If an engine is used that makes one a collective, or the model has buffers, the ranks wait there.
    """
    before = branch[: branch.index(found)] if found in branch and not (found.engines or is_quiet(found)) else ()
    certain = [each for each in before if each.certain and not each.alone and each.kind != found.kind]
    yield from islice((each for each in certain if each.engines), 1)
    yield from islice((each for each in certain if is_quiet(each) and each.node is not found.node), 1)

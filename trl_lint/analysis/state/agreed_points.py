"""Synchronisation points of a function that both branches of a condition have: all ranks reach one of them.

def send(x, source):
    if dist.get_rank() == source:
        dist.broadcast(pack(x), src=source)         one point for callers of `send`, and a certain one
    else:
        dist.broadcast(empty(x), src=source)
        return unpack(x)

The same for a branch that returns and the code after it, and for `if rank != 0:` right after `if rank == 0:`. Where the
kinds differ, and not by the rank, each rank reaches one or the other: neither is certain, but both are missed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.idioms.other_ranks import are_for_other_ranks
from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.sync_points import UNSEEN, SyncPoint, place_of


class AgreedPoints(NamedTuple):
    """The points of a function, of two that stand in both branches the first one. tests: those that do not matter.

    instead: the kinds of the points of which a rank reaches one if it does not reach this one, and the test for that.
    """

    points: list[SyncPoint]
    tests: Mapping[int, cst.CSTNode]
    instead: Mapping[int, tuple[cst.CSTNode, frozenset[str]]]

    def matters(self, point: SyncPoint, condition: Control) -> bool:
        """Whether a condition of a point decides if ranks reach it."""
        return place_of(condition) is not self.tests.get(id(point), condition)

    def instead_of(self, point: SyncPoint, inner: Sequence[Control]) -> frozenset[str]:
        """The kinds of which a rank reaches one if it does not reach a point. inner: the conditions that decide."""
        if not inner or point.control.engine:
            return point.instead
        test, kinds = self.instead.get(id(point), (None, frozenset[str]()))
        return kinds if all(place_of(each) is test for each in inner) else frozenset()


class _Division(NamedTuple):
    """A branch of a function, and the tests by which ranks get into it or into the code that others run instead."""

    branch: cst.BaseSuite
    tests: tuple[cst.CSTNode, ...]


def agreed_points(root: cst.CSTNode, points: Sequence[SyncPoint], entry: Control) -> AgreedPoints:
    """The points of a function that was entered with this control."""
    tests: dict[int, cst.CSTNode] = {}
    instead: dict[int, tuple[cst.CSTNode, frozenset[str]]] = {}
    second: set[int] = set()
    outer = {id(place_of(each)) for each in entry.conditions} if len(points) > 1 else set()
    for division in _divisions(root) if len(points) > 1 else ():
        inside = [(each, test) for each in points if (test := _only_test(each, outer)) in division.tests]
        one = [each for each in inside if any(part is division.branch for part in ancestors(root, each[0].node))]
        other = [each for each in inside if each not in one]
        for (mine, test), (theirs, _) in zip(one, other, strict=False):
            if not (_is_sure(mine) and _is_sure(theirs)):
                break
            if _sort(mine) != _sort(theirs):
                if not (mine.subgroup or theirs.subgroup or _divides_ranks(mine, test)):
                    instead[id(mine)] = test, frozenset((mine.kind, theirs.kind))
                break
            tests[id(mine)] = test
            second.add(id(theirs))
    return AgreedPoints([each for each in points if id(each) not in second], tests, instead)


def _divisions(root: cst.CSTNode) -> Iterator[_Division]:
    for node in of_class(root, cst.If):
        returns = node.orelse is None and isinstance(last_statement(node.body), cst.Return)
        if isinstance(node.orelse, cst.Else) or returns:
            yield _Division(node.body, (node.test,))
    for block in of_class(root, cst.IndentedBlock):
        for one, other in pairwise(block.body):
            if isinstance(one, cst.If) and isinstance(other, cst.If) and _take_all_ranks(one, other):
                yield _Division(one.body, (one.test, other.test))


def _take_all_ranks(one: cst.If, other: cst.If) -> bool:
    """Whether each rank gets into one of two statements, whatever else holds."""
    if one.orelse is not None or other.orelse is not None or isinstance(one.test, cst.BooleanOperation):
        return False
    return are_for_other_ranks(one.test, other.test)


def _only_test(point: SyncPoint, outer: set[int]) -> cst.CSTNode | None:
    """The test of the only condition of a point within its function; None if there are several."""
    match [place for each in point.control.conditions if id(place := place_of(each)) not in outer]:
        case [test]:
            return test
    return None


def _divides_ranks(point: SyncPoint, test: cst.CSTNode) -> bool:
    """Whether a condition of a point has another result on each rank."""
    return any(each.uniformity is Uniformity.DIVERGENT for each in point.control.conditions if place_of(each) is test)


def _sort(point: SyncPoint) -> tuple[str, bool]:
    return point.kind, point.subgroup


def _is_sure(point: SyncPoint) -> bool:
    return point.certain and not point.alone and point.kind not in UNSEEN and not point.engines

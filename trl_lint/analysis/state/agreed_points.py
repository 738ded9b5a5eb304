"""Synchronisation points of a function that both branches of a condition have: all ranks reach one of them.

def send(x, source):
    if dist.get_rank() == source:
        dist.broadcast(pack(x), src=source)         one point for callers of `send`, and a certain one
    else:
        dist.broadcast(empty(x), src=source)
        return unpack(x)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, of_class
from trl_lint.domain.control import Control
from trl_lint.domain.sync_points import UNSEEN, SyncPoint, place_of


class AgreedPoints(NamedTuple):
    """The points of a function, of two that stand in both branches the first one. tests: those that do not matter."""

    points: list[SyncPoint]
    tests: Mapping[int, cst.CSTNode]

    def matters(self, point: SyncPoint, condition: Control) -> bool:
        """Whether a condition of a point decides if ranks reach it."""
        return place_of(condition) is not self.tests.get(id(point), condition)


def agreed_points(root: cst.CSTNode, points: Sequence[SyncPoint], entry: Control) -> AgreedPoints:
    """The points of a function that was entered with this control."""
    tests: dict[int, cst.CSTNode] = {}
    second: set[int] = set()
    ifs = [each for each in of_class(root, cst.If) if isinstance(each.orelse, cst.Else)] if len(points) > 1 else []
    outer = {id(place_of(each)) for each in entry.conditions} if ifs else set()
    for node in ifs:
        inside = [each for each in points if _only_test(each, outer) is node.test]
        one = [each for each in inside if any(part is node.body for part in ancestors(root, each.node))]
        other = [each for each in inside if each not in one]
        if one and [*map(_sort, one)] == [*map(_sort, other)] and all(map(_is_sure, inside)):
            tests.update((id(each), node.test) for each in one)
            second.update(map(id, other))
    return AgreedPoints([each for each in points if id(each) not in second], tests)


def _only_test(point: SyncPoint, outer: set[int]) -> cst.CSTNode | None:
    """The test of the only condition of a point within its function; None if there are several."""
    match [place for each in point.control.conditions if id(place := place_of(each)) not in outer]:
        case [test]:
            return test
    return None


def _sort(point: SyncPoint) -> tuple[str, bool]:
    return point.kind, point.subgroup


def _is_sure(point: SyncPoint) -> bool:
    return point.certain and point.kind not in UNSEEN and not point.engines

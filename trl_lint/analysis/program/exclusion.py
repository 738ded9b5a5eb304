"""Conditions that exclude each other, going by how they are written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors


def excludes(root: cst.CSTNode, test: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a place is not reached where a condition holds: `if not x and first: …`, and it is under `if x`."""
    parts = list(_parts(test))
    if not parts:
        return False
    around = (*ancestors(root, place), place)
    for outer, inner in pairwise(around):
        if isinstance(outer, cst.If) and inner is outer.body:
            asked = list(_parts(outer.test))
            if any(_opposite(mine, theirs) for mine in parts for theirs in asked):
                return True
    return False


def _parts(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What has to hold where a condition does."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _parts(test.left)
        yield from _parts(test.right)
    else:
        yield test


def _opposite(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    for first, second in ((one, other), (other, one)):
        if isinstance(first, cst.UnaryOperation) and isinstance(first.operator, cst.Not):
            return first.expression.deep_equals(second)
    return False

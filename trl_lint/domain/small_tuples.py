"""Tuples that are kept item by item: those with few of them."""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.domain.kinds import IterableValue, TupleValue
from trl_lint.domain.values import Value

# How many items a tuple may have, those of the tuples in it included: each use of a value goes through all of them,
# and `m = (m, m)` has twice as many.
MAX_ITEMS = 1024


def is_small(items: Sequence[Value]) -> bool:
    """Whether so many items, with all that is in them, may make a tuple."""
    left = MAX_ITEMS - len(items)
    todo = [inside for item in items if (inside := _within(item))]
    while todo and left >= 0:
        below = todo.pop()
        left -= len(below)
        todo.extend(inside for item in below if (inside := _within(item)))
    return left >= 0


def _within(value: Value) -> Sequence[Value]:
    return value.inside() if isinstance(value, (TupleValue, IterableValue)) else ()

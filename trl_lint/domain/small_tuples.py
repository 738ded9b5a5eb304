"""Tuples that are kept item by item, as they have few items."""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.domain.kinds import IterableValue, TupleValue
from trl_lint.domain.values import Value

# The maximum number of items, including those of nested tuples: each use of a value visits all of them, and
# `m = (m, m)` doubles their number.
MAX_ITEMS = 1024


def is_small(items: Sequence[Value]) -> bool:
    """Whether these items, with everything nested in them, are few enough for a tuple."""
    remaining = MAX_ITEMS - len(items)
    todo = [inside for item in items if (inside := _nested_in(item))]
    while todo and remaining >= 0:
        below = todo.pop()
        remaining -= len(below)
        todo.extend(inside for item in below if (inside := _nested_in(item)))
    return remaining >= 0


def items_or_itself(value: Value) -> Sequence[Value]:
    """The items of a tuple; any other value by itself."""
    return value.items if isinstance(value, TupleValue) else (value,)


def _nested_in(value: Value) -> Sequence[Value]:
    return value.inside() if isinstance(value, (TupleValue, IterableValue)) else ()

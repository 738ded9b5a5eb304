"""The length of a slice whose bounds are a fixed number apart, wherever it starts.

For example:

    rows[start : start + n]                  n
    rows[start * 2 : (start + n) * 2]        n * 2
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def factors_of_length(index: cst.Slice) -> Sequence[cst.BaseExpression]:
    """The factors of the length of a slice; empty if its bounds don't show it."""
    if index.lower is None or index.upper is None or index.step is not None:
        return ()
    return _distance(index.lower, index.upper)


def _distance(lower: cst.BaseExpression, upper: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    if not isinstance(upper, cst.BinaryOperation):
        return ()
    if isinstance(upper.operator, cst.Add):
        return _added(lower, upper)
    if not isinstance(upper.operator, cst.Multiply) or not isinstance(lower, cst.BinaryOperation):
        return ()
    if not isinstance(lower.operator, cst.Multiply) or not _are_equal(lower.right, upper.right):
        return ()
    found = _distance(lower.left, upper.left)
    return [*found, upper.right] if found else ()


def _added(lower: cst.BaseExpression, upper: cst.BinaryOperation) -> Sequence[cst.BaseExpression]:
    """The summand `n` of `start` and `start + n`, or `n + start`."""
    for start, added in ((upper.left, upper.right), (upper.right, upper.left)):
        if _are_equal(start, lower):
            return [added]
    return ()


def _are_equal(a: cst.BaseExpression, b: cst.BaseExpression) -> bool:
    """Whether both are the same text, except for parentheses around it."""
    return a.with_changes(lpar=(), rpar=()).deep_equals(b.with_changes(lpar=(), rpar=()))

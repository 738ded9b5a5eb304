"""How long a slice is whose bounds lie a given number apart, wherever it starts.

rows[start : start + n]                  n
rows[start * 2 : (start + n) * 2]        n * 2
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def factors_of_length(index: cst.Slice) -> Sequence[cst.BaseExpression]:
    """What the length of a slice is the product of; nothing where its bounds don't say it."""
    if index.lower is None or index.upper is None or index.step is not None:
        return ()
    return _apart(index.lower, index.upper)


def _apart(lower: cst.BaseExpression, upper: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    if not isinstance(upper, cst.BinaryOperation):
        return ()
    if isinstance(upper.operator, cst.Add):
        return _added(lower, upper)
    if not isinstance(upper.operator, cst.Multiply) or not isinstance(lower, cst.BinaryOperation):
        return ()
    if not isinstance(lower.operator, cst.Multiply) or not _are_equal(lower.right, upper.right):
        return ()
    found = _apart(lower.left, upper.left)
    return [*found, upper.right] if found else ()


def _added(lower: cst.BaseExpression, upper: cst.BinaryOperation) -> Sequence[cst.BaseExpression]:
    """`start` and `start + n`, or `n + start`: what is added."""
    for start, added in ((upper.left, upper.right), (upper.right, upper.left)):
        if _are_equal(start, lower):
            return [added]
    return ()


def _are_equal(a: cst.BaseExpression, b: cst.BaseExpression) -> bool:
    """Whether both are the same text, but for parentheses around it."""
    return a.with_changes(lpar=(), rpar=()).deep_equals(b.with_changes(lpar=(), rpar=()))

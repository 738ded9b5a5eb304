"""Shares of a list that have the same length on all ranks: the list was cut to a multiple of the world size before.

    aligned = len(rows) // world_size * world_size
    rows = rows[:aligned]
rows = rows[rank::world_size]             the same number on each rank

The same holds for `rows[: len(rows) - len(rows) % world_size]`, and for `rows[rank:aligned:world_size]` itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, assignments


def is_even(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a slice takes every n-th element of a list whose length is a multiple of n.

    root: the function (or module) of the subscript.
    """
    share = _slice_of(node)
    if share is None or share.step is None or not isinstance(node, cst.Subscript):
        return False
    if share.upper is not None:
        return _is_multiple(root, share.upper, share.step)
    cuts = (_slice_of(each) for each in _definitions(root, node.value))
    return any(
        cut is not None and cut.lower is cut.step is None and _is_multiple(root, cut.upper, share.step) for cut in cuts
    )


def _slice_of(node: cst.CSTNode) -> cst.Slice | None:
    """The slice of a subscript that consists of one slice."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice() as found)]):
            return found
    return None


def _definitions(root: cst.CSTNode, items: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The expression of a list, and what this function assigns to its name."""
    yield items
    if isinstance(items, cst.Name):
        yield from (value for target, value in assignments(root) if target.deep_equals(items))


def _is_multiple(root: cst.CSTNode, number: cst.BaseExpression | None, of: cst.BaseExpression) -> bool:
    if isinstance(number, cst.Name):
        number = assigned_once(root, number.value)
    match number:
        case cst.BinaryOperation(operator=cst.Multiply()):
            return any(each.deep_equals(of) for each in _factors(number))
        case cst.BinaryOperation(left=whole, operator=cst.Subtract(), right=cst.BinaryOperation() as rest):
            divisors = _factors(rest.right) if isinstance(rest.operator, cst.Modulo) else ()
            return rest.left.deep_equals(whole) and any(each.deep_equals(of) for each in divisors)
    return False


def _factors(number: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(number, cst.BinaryOperation) and isinstance(number.operator, cst.Multiply):
        yield from (*_factors(number.left), *_factors(number.right))
    else:
        yield number.with_changes(lpar=(), rpar=()) if isinstance(number, cst.BinaryOperation) else number

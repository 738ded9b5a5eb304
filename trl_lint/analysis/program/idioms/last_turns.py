"""Whether a test holds in the last turn of a loop, as far as it asks for the number of the turn.

for index in range(count):                   index is count - 1 in the last turn
    index == count - 1, index + 1 == count   true
    index < count - 1, (index + 1) % count   false
    index == count                           false, as in all other turns
    index == 0                               false, if there are several turns; nothing is said of `range(1)`
for index, part in enumerate(parts):         index is len(parts) - 1
    index < len(parts) - 1                   false
"""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import Condition, is_bound

_COMPARES = {
    cst.Equal: eq,
    cst.GreaterThan: gt,
    cst.GreaterThanEqual: ge,
    cst.LessThan: lt,
    cst.LessThanEqual: le,
    cst.NotEqual: ne,
}


class _Sum(NamedTuple):
    """A number of times the turns of a loop, plus a number."""

    turns: int
    number: int


# The numbers of the last turn and of the first one.
_LAST, _FIRST = _Sum(1, -1), _Sum(0, 0)


class _Turns(NamedTuple):
    """A loop's variable, and how many turns the loop has."""

    variable: cst.Name
    number: cst.BaseExpression


def holds_in_last_turn(loop: cst.For, condition: Condition) -> bool:
    """Whether a test is known to have this outcome in the last turn of a loop, the only one that binds its variable."""
    turns = _turns_of(loop)
    return turns is not None and not is_bound(loop.body, turns.variable) and _holds(turns, *condition) is True


def _turns_of(loop: cst.For) -> _Turns | None:
    match loop.target, loop.iter:
        case cst.Name() as variable, cst.Call(func=cst.Name("range"), args=[cst.Arg(value=count)]):
            return None if isinstance(count, cst.Integer) and count.evaluated_value == 1 else _Turns(variable, count)
        case (
            cst.Tuple(elements=[cst.Element(value=cst.Name() as variable), _]),
            cst.Call(func=cst.Name("enumerate"), args=[cst.Arg(value=rows)]),
        ):
            return _Turns(variable, cst.Call(cst.Name("len"), [cst.Arg(rows)]))
    return None


def _holds(turns: _Turns, test: cst.BaseExpression, wanted: bool) -> bool | None:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            return _holds(turns, denied, not wanted)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, right)]):
            one, other, compares = _sum(turns, left), _sum(turns, right), _COMPARES.get(type(operator))
            if one is None or other is None or compares is None:
                return None
            if {one, other} == {_LAST, _FIRST}:
                return compares(one.turns, other.turns) is wanted
            return compares(one.number, other.number) is wanted if one.turns == other.turns else None
    found = _sum(turns, test)
    return None if found is None or found.turns else bool(found.number) is wanted


def _sum(turns: _Turns, node: cst.BaseExpression) -> _Sum | None:
    """What an expression is in the last turn; None if it asks for anything else than turns and numbers."""
    if node.deep_equals(turns.variable):
        return _Sum(1, -1)
    if _is_count(turns, node):
        return _Sum(1, 0)
    match node:
        case cst.Integer():
            return _Sum(0, node.evaluated_value)
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            one, other = _sum(turns, left), _sum(turns, right)
            return None if one is None or other is None else _combined(one, operator, other)
    return None


def _is_count(turns: _Turns, node: cst.BaseExpression) -> bool:
    """Whether an expression is the number of turns; `len(parts)` is, however it is written."""
    match node, turns.number:
        case cst.Call(func=cst.Name("len"), args=[given]), cst.Call(func=cst.Name("len"), args=[rows]):
            return given.value.deep_equals(rows.value)
    return node.deep_equals(turns.number)


def _combined(one: _Sum, operator: cst.BaseBinaryOp, other: _Sum) -> _Sum | None:
    match operator:
        case cst.Add():
            return _Sum(one.turns + other.turns, one.number + other.number)
        case cst.Subtract():
            return _Sum(one.turns - other.turns, one.number - other.number)
        case cst.Modulo() if one == other:
            return _Sum(0, 0)
    return None

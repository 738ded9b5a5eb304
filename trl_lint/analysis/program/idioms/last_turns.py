"""Whether a test holds in the last turn of a loop, as far as it asks for the number of the turn.

for index in range(count):                   index is count - 1 in the last turn
    index == count - 1, index + 1 == count   true
    index < count - 1, (index + 1) % count   false
    index == count                           false, as in all other turns
    index == 0                               false, if there are several turns; nothing is said of `range(1)`
for index, part in enumerate(parts):         index is len(parts) - 1
    index < len(parts) - 1                   false

Ranks that leave the loop then leave it with the others:

for index in range(count):
    train()
    if index >= count - 1 and rank == 0:     holds in the last turn only
        save()
        break
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    ifs_around,
    is_bound,
    outcomes_of_parts,
)
from trl_lint.analysis.program.syntax import LOOPS, ancestors, below, innermost, precedes

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
    """A loop's variable, and how many turns the loop has; asked: the turn in question, from behind the last one."""

    variable: cst.Name
    number: cst.BaseExpression
    asked: int = -1


def holds_in_last_turn(loop: cst.For, condition: Condition) -> bool:
    """Whether a test is known to have this outcome in the last turn of a loop, the only one that binds its variable."""
    turns = _turns_of(loop)
    return turns is not None and not is_bound(loop.body, turns.variable) and _holds(turns, *condition) is True


def leave_in_last_turn(root: cst.CSTNode, leaving: Sequence[cst.CSTNode], met: Iterable[cst.CSTNode]) -> bool:
    """Whether ranks leave loops by these statements in the last turn only, where the others meet nobody behind them.

    met: where the function synchronises with other ranks.
    """
    points = list(met)
    return bool(leaving) and all(_is_left_in_last_turn(root, each, points) for each in leaving)


def _is_left_in_last_turn(root: cst.CSTNode, leaving: cst.CSTNode, points: Sequence[cst.CSTNode]) -> bool:
    loop = innermost(root, leaving, *LOOPS)
    if not isinstance(leaving, cst.Break) or not isinstance(loop, cst.For) or loop.orelse is not None:
        return False
    if any(ancestors(loop.body, each) and precedes(root, leaving, each) for each in points):
        return False
    around = (Condition(each.test, holds) for each, holds in ifs_around(loop.body, leaving))
    return any(_holds_only_then(loop, part) for each in around for part in outcomes_of_parts(each))


def _holds_only_then(loop: cst.For, condition: Condition) -> bool:
    """Whether a comparison has this outcome in the last turn, and in no other one."""
    turns = _turns_of(loop)
    if turns is None or not holds_in_last_turn(loop, condition) or not _is_of_one_side(condition):
        return False
    counted = (each for each in below(turns.number) if isinstance(each, (cst.Attribute, cst.Name)))
    is_fixed = not any(is_bound(loop.body, each) for each in counted)
    return is_fixed and _holds(turns._replace(asked=-2), *condition) is False


def _is_of_one_side(condition: Condition) -> bool:
    """Whether what does not hold in one turn, but in the next, holds in none before: of linear sums, but for `!=`."""
    match condition.test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator)]):
            return not isinstance(operator, cst.NotEqual if condition.holds else cst.Equal)
    return False


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
        return _Sum(1, turns.asked)
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

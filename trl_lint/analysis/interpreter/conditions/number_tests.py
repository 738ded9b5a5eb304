"""Comparisons that are decided: of the world size, of a test of it, and of the number that a setting is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from trl_lint.domain.constants import MISSING, WORLD_FALSE, WORLD_SIZE, WORLD_TRUE, GivenNumber, World

ORDER: dict[type, Callable[[float, float], bool]] = {
    cst.GreaterThan: lambda a, b: a > b,
    cst.GreaterThanEqual: lambda a, b: a >= b,
    cst.LessThan: lambda a, b: a < b,
    cst.LessThanEqual: lambda a, b: a <= b,
    cst.Equal: lambda a, b: a == b,
    cst.NotEqual: lambda a, b: a != b,
}
# The comparison operators for swapped operands.
MIRROR: dict[type, type] = {
    cst.GreaterThan: cst.LessThan,
    cst.GreaterThanEqual: cst.LessThanEqual,
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
}
# World sizes for which the answers must agree before a comparison is decided.
_SIZES = (2, 3, 8, 1024)


def decided(left: Any, operator: type, right: Any) -> Any:
    """The constant result of a comparison with the world size, a test of it, or a given number; MISSING if open."""
    if isinstance(right, GivenNumber) and not isinstance(left, GivenNumber):
        left, right, operator = right, left, MIRROR.get(operator, operator)
    if isinstance(left, GivenNumber):
        other = right.value if isinstance(right, GivenNumber) else right
        return ORDER[operator](left.value, other) if type(other) in (float, int) and operator in ORDER else MISSING
    if right in (WORLD_SIZE, WORLD_TRUE, WORLD_FALSE) and not isinstance(left, World):
        left, right, operator = right, left, MIRROR.get(operator, operator)
    if left is WORLD_SIZE and type(right) is int and operator in ORDER:
        answers = {ORDER[operator](size, right) for size in (*_SIZES, max(right, 2), max(right, 2) + 1)}
        if len(answers) == 1:
            return WORLD_TRUE if answers.pop() else WORLD_FALSE
    if left in (WORLD_TRUE, WORLD_FALSE) and type(right) is bool and operator in (cst.Equal, cst.NotEqual):
        holds = (left is WORLD_TRUE) is right
        return WORLD_TRUE if holds is (operator is cst.Equal) else WORLD_FALSE
    return MISSING


def is_among(number: GivenNumber, operator: cst.CSTNode, consts: Sequence[object]) -> object:
    """The constant result of asking whether a number is one of those in a display; MISSING if one is not known."""
    if any(type(each) not in (float, int) for each in consts):
        return MISSING
    return (number.value in consts) is isinstance(operator, cst.In)

"""Conditions for all ranks but the one that another condition is for, where the rest of both is the same.

if wait and rank not in (-1, 0):
    barrier()                           the other ranks wait here
load()
if wait and rank == 0:
    barrier()                           and the first one, once it is done
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of

_OTHERS = (cst.NotEqual, cst.GreaterThan, cst.NotIn)
_DISPLAYS = (cst.List, cst.Set, cst.Tuple)


def are_for_other_ranks(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether one of two conditions holds on the first rank, and the other on all others, if what else they ask for
    does.
    """
    mine, theirs = list(parts_of(one)), list(parts_of(other))
    own, rest = _without(mine, theirs), _without(theirs, mine)
    return len(own) == len(rest) == 1 and (_divide(own[0], rest[0]) or _divide(rest[0], own[0]))


def _without(parts: list[cst.CSTNode], others: list[cst.CSTNode]) -> list[cst.CSTNode]:
    return [each for each in parts if not any(each.deep_equals(part) for part in others)]


def _divide(first: cst.CSTNode, others: cst.CSTNode) -> bool:
    match first, others:
        case (
            cst.Comparison(left, [cst.ComparisonTarget(cst.Equal(), cst.Integer("0"))])
            | cst.UnaryOperation(cst.Not(), left),
            cst.Comparison(same, [cst.ComparisonTarget(operator, ranks)]),
        ):
            return left.deep_equals(same) and isinstance(operator, _OTHERS) and _names_first(ranks)
    return False


def _names_first(ranks: cst.BaseExpression) -> bool:
    """Whether it is the first rank, alone or next to -1, which no rank of several has."""
    elements = [each.value for each in ranks.elements] if isinstance(ranks, _DISPLAYS) else [ranks]
    numbers = [each for each in elements if not isinstance(each, cst.UnaryOperation)]
    return len(numbers) == 1 and isinstance(numbers[0], cst.Integer) and numbers[0].value == "0"

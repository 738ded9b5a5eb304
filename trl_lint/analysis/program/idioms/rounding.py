"""Numbers that are raised so that a division of them rounds up.

(len(rows) + size - 1) // size
(len(rows) + (size - 1)) // size
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst


class Raised(NamedTuple):
    """A number, and by what it is to be divided: it is raised by one less than that."""

    number: cst.BaseExpression
    divisor: cst.BaseExpression


def raised_for_division(node: cst.BaseExpression) -> Raised | None:
    """The parts of `n + size - 1`, or `n + (size - 1)`; None for any other expression."""
    match node:
        case cst.BinaryOperation(
            left=cst.BinaryOperation(left=number, operator=cst.Add(), right=divisor),
            operator=cst.Subtract(),
            right=cst.Integer("1"),
        ):
            return Raised(number, divisor)
        case cst.BinaryOperation(
            left=number,
            operator=cst.Add(),
            right=cst.BinaryOperation(left=divisor, operator=cst.Subtract(), right=cst.Integer("1")),
        ):
            return Raised(number, divisor)
    return None

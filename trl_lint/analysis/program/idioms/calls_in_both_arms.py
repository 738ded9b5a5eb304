"""Calls of one function in both branches of a condition.

For example:

    if rank == 0:
        train(model, loader, logger)      the counterpart of the call below
    else:
        train(model, loader, None)        the counterpart of the call above
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors


class Counterpart(NamedTuple):
    """The call in the other branch. holds: whether the first call is in the branch for a true condition."""

    branch: cst.If
    holds: bool
    call: cst.Call

    def argument(self, of_this: cst.Call, expression: cst.BaseExpression) -> cst.BaseExpression | None:
        """What the other call passes instead of an argument of this one, if they are written alike."""
        for index, each in enumerate(of_this.args):
            if each.value is expression:
                others = self.call.args
                if each.keyword is not None:
                    named = (other for other in others if other.keyword and other.keyword.value == each.keyword.value)
                    return next((other.value for other in named), None)
                if any(other.star or other.keyword for other in others[: index + 1]) or index >= len(others):
                    return None
                return others[index].value
        return None


def counterpart_of(root: cst.CSTNode, call: cst.CSTNode) -> Counterpart | None:
    """The call of the same function in the other branch of the innermost `if … else` around a call."""
    if not isinstance(call, cst.Call):
        return None
    around = ancestors(root, call)
    branch = next((each for each in reversed(around) if isinstance(each, cst.If)), None)
    if branch is None or not isinstance(branch.orelse, cst.Else):
        return None
    arms = (branch.body, branch.orelse.body)
    mine = next((index for index, arm in enumerate(arms) if any(each is call for each in _calls(arm))), None)
    if mine is None:
        return None
    others = (each for each in _calls(arms[1 - mine]) if each.func.deep_equals(call.func))
    return next((Counterpart(branch, mine == 0, each) for each in others), None)


def _calls(arm: cst.BaseSuite) -> Iterator[cst.Call]:
    """The calls that are statements of a branch, or whose result one assigns."""
    for line in arm.body:
        parts = line.body if isinstance(line, cst.SimpleStatementLine) else ()
        for part in parts:
            value = part.value if isinstance(part, (cst.Assign, cst.Expr)) else None
            if isinstance(value, cst.Call):
                yield value

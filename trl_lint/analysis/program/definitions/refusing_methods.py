"""Methods that return None for some of what they compute: by a test of numbers that each rank has for itself.

def loss_of(self, batch):
    loss = self.net(batch).mean()
    if loss.item() > 2: return None       refuses some losses
    if batch is None: return None         not by what it computes
    return loss
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from trl_lint.analysis.program.blocks import last_statement
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import assignments, callee_of, is_literal_none, last_name, of_class
from trl_lint.knowledge.heuristics import MAY_REDUCE, NOT_A_NUMBER


@noted_in_file
def refusing_test(method: FunctionInfo) -> cst.BaseExpression | None:
    """The test where a method returns None for some of what it computes; None if there is none, or ranks may agree."""
    calls = of_class(method.node.body, cst.Call)
    if all(map(_is_nothing, of_class(method.node.body, cst.Return))):
        return None
    if any(MAY_REDUCE.fits(last_name(callee_of(each))) for each in calls):
        return None
    assigned = ((target, value) for target, value in assignments(method.node) if of_class(value, cst.Call))
    computed = {target.value for target, _ in assigned if isinstance(target, cst.Name)}
    refusing = (each for each in of_class(method.node.body, cst.If) if _is_nothing(last_statement(each.body)))
    return next((each.test for each in refusing if _asks_for_one_of(each.test, computed)), None)


def _is_nothing(statement: cst.CSTNode | None) -> bool:
    return isinstance(statement, cst.Return) and (statement.value is None or is_literal_none(statement.value))


def _asks_for_one_of(test: cst.BaseExpression, computed: Collection[str]) -> bool:
    """`loss.item() > 2`, `torch.isnan(loss)`"""
    for call in of_class(test, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name(name), attr=cst.Name("item")), args=[]):
                found = name in computed
            case cst.Call(func=function, args=[cst.Arg(value=cst.Name(name))]):
                found = name in computed and NOT_A_NUMBER.fits(last_name(function))
            case _:
                found = False
        if found:
            return True
    return False

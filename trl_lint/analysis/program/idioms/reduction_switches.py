"""Statements that turn the reduction of a wrapper's gradients on or off, for the backward passes after them.

    model.require_backward_grad_sync = index == count - 1    gradients are kept where that is false
    model.set_requires_gradient_sync(False)                  they are kept
    if distributed:                                          the same, from the `if` on: its test is that of all turns
        model.require_backward_grad_sync = False

DDP asks for it in its forward: what is set between a forward and its backward pass is for the next forward.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.kept_gradients import Kept, meant_by
from trl_lint.analysis.program.idioms.path_conditions import Condition, is_bound
from trl_lint.analysis.program.syntax import LOOPS, ancestors, innermost, last_name, of_class, precedes, used_names
from trl_lint.knowledge.models import REDUCES_GRADIENTS, SETS_REDUCTION


def switched_by(root: cst.CSTNode, node: cst.CSTNode) -> Kept | None:
    """What an assignment or a call keeps unreduced, unless it is known to turn the reduction on."""
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(cst.Attribute(value=model, attr=cst.Name(name)) as target)], value=value
        ) if name == REDUCES_GRADIENTS:
            return _kept(root, target, model, value)
        case cst.Call(func=cst.Attribute(value=model, attr=cst.Name(name)), args=[cst.Arg(value=value), *_]) if (
            name == SETS_REDUCTION
        ):
            return _kept(root, node, model, value)
    return None


def _kept(
    root: cst.CSTNode, by: cst.Call | cst.Attribute, model: cst.BaseExpression, value: cst.BaseExpression
) -> Kept | None:
    match value:
        case cst.Name("True"):
            return None
        case cst.Name("False"):
            return Kept(by, model, None)
    return Kept(by, model, Condition(meant_by(root, value), False))


def start_of(root: cst.CSTNode, kept: Kept) -> cst.CSTNode | None:
    """The statement from which on a switch has been set: its own, or an `if` around it that all turns of a loop run."""
    path = (*ancestors(root, kept.by), kept.by)
    line = next((each for each in path if isinstance(each, cst.SimpleStatementLine) and len(each.body) == 1), None)
    branch = innermost(root, kept.by, cst.If)
    if line is None or branch is None or branch.body.body != (line,) or branch.orelse is not None:
        return line
    loop = innermost(root, branch, *LOOPS)
    if loop is None or any(is_bound(loop, cst.Name(name)) for name in used_names(branch.test)):
        return line
    return branch


def calls_after(root: cst.CSTNode, start: cst.CSTNode, kept: Kept) -> Iterator[cst.Call]:
    """The calls after a switch in its block, up to the next one; none if the model has been called there before."""
    block = next(reversed(ancestors(root, start)), None)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)) or start not in block.body:
        return
    place = block.body.index(start)
    if any(each.func.deep_equals(kept.model) for one in block.body[:place] for each in of_class(one, cst.Call)):
        return
    following = _next_switch(root, start, kept)
    for statement in block.body[place + 1 :]:
        for call in of_class(statement, cst.Call):
            if following is not None and not precedes(root, call, following):
                return
            yield call


def _next_switch(root: cst.CSTNode, start: cst.CSTNode, kept: Kept) -> cst.CSTNode | None:
    switches = (*of_class(root, cst.Assign), *of_class(root, cst.Call))
    later = (each for each in switches if precedes(root, start, each) and _switches(root, each, kept.model))
    return min(later, key=lambda each: sum(precedes(root, other, each) for other in switches), default=None)


def _switches(root: cst.CSTNode, node: cst.CSTNode, model: cst.BaseExpression) -> bool:
    """Whether a statement sets the same switch, on or off."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(cst.Attribute(value=owner, attr=cst.Name(name)))]):
            return name == REDUCES_GRADIENTS and owner.deep_equals(model)
        case cst.Call(func=cst.Attribute(value=owner)):
            return last_name(node.func) == SETS_REDUCTION and owner.deep_equals(model)
    return False

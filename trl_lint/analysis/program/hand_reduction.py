"""Gradients that a function reduces by itself, parameter by parameter, as DDP would.

for parameter in model.parameters():      reduced by hand
    dist.all_reduce(parameter.grad)
for parameter in model.parameters():      not: it is the norm that is reduced
    dist.all_reduce(parameter.grad.norm())
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import below, last_name
from trl_lint.knowledge.torch import GIVES_PARAMETERS, KEEPS_GRADIENT, REDUCES_GRADIENTS


def reduces_gradients(code: cst.CSTNode) -> bool:
    """Whether a loop over parameters in this code reduces what it finds in their `grad`."""
    return any(_reduces(loop) for loop in below(code) if isinstance(loop, cst.For) and _gives_parameters(loop.iter))


def _gives_parameters(iterable: cst.BaseExpression) -> bool:
    return any(_called(node) in GIVES_PARAMETERS for node in below(iterable))


def _reduces(loop: cst.For) -> bool:
    gradients: list[cst.BaseExpression] = []
    for node in below(loop.body):
        if isinstance(node, cst.Assign) and _is_gradient(node.value, gradients):
            gradients += [target.target for target in node.targets]
        given = node.args[:1] if isinstance(node, cst.Call) and _called(node) in REDUCES_GRADIENTS else ()
        if any(_is_gradient(arg.value, gradients) for arg in given):
            return True
    return False


def _is_gradient(value: cst.BaseExpression, known: list[cst.BaseExpression]) -> bool:
    """Whether an expression is made of gradients, element by element."""
    if any(value.deep_equals(each) for each in known):
        return True
    match value:
        case cst.Attribute(attr=cst.Name("grad")):
            return True
        case cst.Attribute(value=owner, attr=cst.Name("data")):
            return _is_gradient(owner, known)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))):
            return name in KEEPS_GRADIENT and _is_gradient(owner, known)
    return any(_is_gradient(each, known) for each in _operands(value))


def _operands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.IfExp):
        yield from (value.body, value.orelse)
    elif isinstance(value, cst.BinaryOperation):
        yield from (value.left, value.right)


def _called(node: cst.CSTNode) -> str:
    """The last part of the name of what is called."""
    return last_name(node.func) if isinstance(node, cst.Call) else ""

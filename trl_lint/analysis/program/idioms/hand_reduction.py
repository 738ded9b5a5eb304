"""Gradients that a function reduces itself, parameter by parameter or all at once, as DDP would.

    for parameter in model.parameters():      reduced by hand
        dist.all_reduce(parameter.grad)
    for parameter in model.parameters():      not: only the norm is reduced
        dist.all_reduce(parameter.grad.norm())
    flat = torch.cat([each.grad.flatten() for each in model.parameters()])
    dist.all_reduce(flat)                     reduced by hand
    average(model.parameters())               whatever `average` does with its parameter

Or gradients that it only reads:

    model.zero_grad()
    model(**batch).loss.backward()
    seen += parameter.grad ** 2               and no optimizer's `step`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import below, last_name, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.torch import GIVES_PARAMETERS, JOINS_GRADIENTS, KEEPS_GRADIENT, REDUCES_GRADIENTS

# Returns the code of the function that a callee is, if its source is available.
CodeOf = Callable[[cst.BaseExpression], cst.CSTNode | None]


def reduces_gradients(code: cst.CSTNode, code_of: CodeOf) -> bool:
    """Whether this code, or a function that it calls, reduces the `grad` of parameters."""
    if _reduces_in_loops(code) or _reduces_joined(code):
        return True
    called = (code_of(call.func) for call in of_class(code, cst.Call) if call.args)
    return any(each is not None and each is not code and _reduces_in_loops(each) for each in called)


@tree_cache(1024)
def only_reads_gradients(code: cst.CSTNode) -> bool:
    """Whether code clears the gradients, reads those of a backward pass, and takes no optimizer step."""
    called = {_called(call) for call in of_class(code, cst.Call)}
    if "zero_grad" not in called or any("step" in name for name in called):
        return False
    return any(each.attr.value == "grad" for each in of_class(code, cst.Attribute))


@tree_cache(1024)
def _reduces_in_loops(code: cst.CSTNode) -> bool:
    return any(map(_reduces_each, of_class(code, cst.For)))


def _reduces_each(loop: cst.For) -> bool:
    """Whether a loop reduces the gradient of each parameter: of `parameters()`, or of its own targets."""
    names = [node for node in below(loop.target) if isinstance(node, cst.Name)]
    return _reduces(loop.body, names if not _yields_parameters(loop.iter) else None, [])


@tree_cache(1024)
def _reduces_joined(code: cst.CSTNode) -> bool:
    """Whether the gradients of many parameters are joined into one tensor, which is then reduced."""
    joined: list[cst.BaseExpression] = []
    for node in of_class(code, cst.Assign):
        if _is_joined(node.value, joined):
            joined += [target.target for target in node.targets]
    return bool(joined) and any(
        any(arg.value.deep_equals(each) for each in joined)
        for call in of_class(code, cst.Call)
        if _called(call) in REDUCES_GRADIENTS
        for arg in call.args[:1]
    )


def _is_joined(value: cst.BaseExpression, known: list[cst.BaseExpression]) -> bool:
    match value:
        case cst.ListComp(elt=element, for_in=loop) | cst.GeneratorExp(elt=element, for_in=loop):
            return _yields_parameters(loop.iter) and _is_gradient(element, [])
        case cst.Call(args=[first, *_]) if _called(value) in JOINS_GRADIENTS:
            return any(first.value.deep_equals(each) for each in known) or _is_joined(first.value, known)
    return False


def _yields_parameters(iterable: cst.BaseExpression) -> bool:
    return any(_called(node) in GIVES_PARAMETERS for node in below(iterable))


def _reduces(body: cst.CSTNode, owners: list[cst.Name] | None, gradients: list[cst.BaseExpression]) -> bool:
    """Whether a piece of code reduces gradients. owners: the names whose gradients count; None: those of any name."""
    for node in below(body):
        if isinstance(node, cst.Assign) and _is_gradient(node.value, gradients, owners):
            gradients += [target.target for target in node.targets]
        reduced = node.args[:1] if isinstance(node, cst.Call) and _called(node) in REDUCES_GRADIENTS else ()
        if any(_is_gradient(arg.value, gradients, owners) for arg in reduced):
            return True
    return False


def _is_gradient(
    value: cst.BaseExpression, known: list[cst.BaseExpression], owners: list[cst.Name] | None = None
) -> bool:
    """Whether an expression consists of gradients, element by element."""
    if any(value.deep_equals(each) for each in known):
        return True
    match value:
        case cst.Attribute(value=receiver, attr=cst.Name("grad")):
            return owners is None or any(receiver.deep_equals(each) for each in owners)
        case cst.Attribute(value=receiver, attr=cst.Name("data")):
            return _is_gradient(receiver, known, owners)
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(name))):
            return name in KEEPS_GRADIENT and _is_gradient(receiver, known, owners)
    return any(_is_gradient(each, known, owners) for each in _operands(value))


def _operands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.IfExp):
        yield from (value.body, value.orelse)
    elif isinstance(value, cst.BinaryOperation):
        yield from (value.left, value.right)


def _called(node: cst.CSTNode) -> str:
    """The last part of the name of a callee."""
    return last_name(node.func) if isinstance(node, cst.Call) else ""

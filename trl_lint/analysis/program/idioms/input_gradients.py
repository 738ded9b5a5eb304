"""Forwards whose result `torch.autograd.grad` takes gradients of, which leaves those of the parameters alone.

For example:

    grad = torch.autograd.grad(net(x).sum(), x)[0]          as in an attack on the network: nothing is trained
    loss = F.cross_entropy(net(x), y)                       the same, if nothing else uses `loss`
    (grad,) = torch.autograd.grad(loss, [x])
    loss.item(), loss.detach()                              these use no gradient of it
    autograd.grad(net(x).sum(), x, create_graph=True)       may be a part of what is trained
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assigned_once, inwards, last_name, value_names
from trl_lint.knowledge.torch import CREATES_GRAPH, TAKES_GRADIENTS, WITHOUT_HISTORY

# How many names a result is followed through: `out = net(x); loss = out.sum()`.
_FOLLOWED = 4


def only_gives_gradients(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a value is only used, in the text of one function, to take gradients of it."""
    return _uses(root, node, _FOLLOWED) == {True}


def _uses(root: cst.CSTNode, node: cst.CSTNode, followed: int) -> set[bool]:
    """For each use of a value, whether gradients are taken of it; uses without gradients are left out."""
    statement: cst.CSTNode | None = None
    for outer, inner in reversed(list(inwards(root, node))):
        match outer:
            case cst.Call() if inner is not outer.func and _takes_gradients(outer):
                return {not _creates_graph(outer)}
            case cst.Attribute(attr=cst.Name(name)) if name in WITHOUT_HISTORY:
                return set()
            case cst.BaseSmallStatement():
                statement = outer
                break
    bound = _bound(root, statement)
    if bound is None or not followed:
        return {False}
    read = [each for each in value_names(root) if each.value == bound and not _is_target(root, each)]
    return set[bool]().union(*(_uses(root, each, followed - 1) for each in read))


def _takes_gradients(call: cst.Call) -> bool:
    """`torch.autograd.grad(…)`, and `grad(…)` if it is imported by name."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    return last_name(call.func) == TAKES_GRADIENTS and (owner is None or last_name(owner) == "autograd")


def _creates_graph(call: cst.Call) -> bool:
    """Whether the gradients may be trained with themselves."""
    passed = (each.value for each in call.args if each.keyword is not None and each.keyword.value == CREATES_GRAPH)
    return any(not (isinstance(each, cst.Name) and each.value == "False") for each in passed)


def _bound(root: cst.CSTNode, statement: cst.CSTNode | None) -> str | None:
    """The only name that a statement binds, if nothing else binds it."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value):
            return name if assigned_once(root, name) is value else None
    return None


def _is_target(root: cst.CSTNode, name: cst.Name) -> bool:
    around = ancestors(root, name)
    return bool(around) and isinstance(around[-1], cst.AssignTarget)

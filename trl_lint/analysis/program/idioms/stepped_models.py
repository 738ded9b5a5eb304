"""Which models an optimizer steps, as far as the code that makes it names them.

optimizer = Adam(model.parameters(), lr)                  that of `model`
optimizer = AdamW([{"params": head.parameters()}, …])     that of `head`
model = DDP(net)                                          that of `net` is that of `model`, too
optimizer = make_optimizer(args)                          unknown
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_parts, holder_name, last_name, names_in, of_class, used_names
from trl_lint.knowledge.heuristics import OPTIMIZER_OBJECT
from trl_lint.knowledge.torch import GIVES_PARAMETERS

_STEP = "step"


def stepped(call: cst.Call) -> cst.BaseExpression | None:
    """The optimizer of `optimizer.step()` or `scaler.step(optimizer)`; None if a call is no step."""
    if not isinstance(call.func, cst.Attribute) or last_name(call.func) != _STEP:
        return None
    return call.args[0].value if call.args and call.args[0].keyword is None else call.func.value


def is_step(root: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a call is the step of an optimizer, by its name or by what the code makes it of."""
    optimizer = stepped(call)
    return optimizer is not None and (
        OPTIMIZER_OBJECT.fits(last_name(optimizer))
        or any(any(True for _ in _owners_in(value)) for value in _made_of(root, optimizer))
    )


def steps_model(root: cst.CSTNode, optimizer: cst.BaseExpression, model: cst.BaseExpression) -> bool | None:
    """Whether an optimizer steps a model; None if the code (a function, or a module) does not make the optimizer."""
    values = list(_made_of(root, optimizer))
    owners = {name for value in values for each in _owners_in(value) for name in names_in(each)}
    named = owners or {name for value in values for name in used_names(value)}
    return bool(named & _names_of(root, model)) if values else None


def _made_of(root: cst.CSTNode, optimizer: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    return (value for target, value in assigned_parts(root) if target.deep_equals(optimizer))


def _owners_in(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The models whose parameters an expression asks for."""
    for call in of_class(value, cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in GIVES_PARAMETERS:
            yield call.func.value


def _names_of(root: cst.CSTNode, model: cst.BaseExpression) -> set[str]:
    """The last part of a model's name, and the names of what code wraps as it."""
    wrapped = [value for target, value in assigned_parts(root) if target.deep_equals(model)]
    inside = (each.args[0].value for each in wrapped if isinstance(each, cst.Call) and each.args)
    return {last_name(model), holder_name(model)}.difference({"", "self"}).union(*map(used_names, inside))

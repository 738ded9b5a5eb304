"""Which models an optimizer steps, as far as the code that makes it names them.

optimizer = Adam(model.parameters(), lr)                  that of `model`
optimizer = AdamW([{"params": head.parameters()}, …])     that of `head`
model = DDP(net)                                          that of `net` is that of `model`, too
optimizer = make_optimizer(args)                          unknown
model, optimizer = state["model"], state["optimizer"]     unknown
raw = model.module                                        that of `raw` is that of `model`
net = DDP(net); optimizer = Adam(net.parameters())        what this call of `DDP` makes has an optimizer
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_parts, holder_name, last_name, names_in, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.heuristics import OPTIMIZER_OBJECT
from trl_lint.knowledge.library import UNWRAPS
from trl_lint.knowledge.models import INNER_MODEL
from trl_lint.knowledge.schedules import STEP
from trl_lint.knowledge.torch import GIVES_PARAMETERS


def stepped(call: cst.Call) -> cst.BaseExpression | None:
    """The optimizer of `optimizer.step()` or `scaler.step(optimizer)`; None if a call is no step."""
    if not isinstance(call.func, cst.Attribute) or last_name(call.func) != STEP:
        return None
    return call.args[0].value if call.args and call.args[0].keyword is None else call.func.value


def is_step(root: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a call is the step of an optimizer, by its name or by what the code makes it of."""
    optimizer = stepped(call)
    return optimizer is not None and (
        OPTIMIZER_OBJECT.fits(last_name(optimizer))
        or any(any(True for _ in owners_in(value)) for value in made_of(root, optimizer))
    )


def steps_model(root: cst.CSTNode, optimizer: cst.BaseExpression, model: cst.BaseExpression) -> bool | None:
    """Whether an optimizer steps a model; None if the code (a function, or a module) does not say so."""
    values = list(made_of(root, optimizer))
    if not values:
        return None
    own, wrapped = _names_of(model) | _unwrapped_as(root, model), _wrapped_as(root, model)
    owners = {name for value in values for each in owners_in(value) for name in names_in(each)}
    if owners:
        return not owners.isdisjoint(own | wrapped)
    if not any(isinstance(value, cst.Call) for value in values):
        return None  # it is read from somewhere: `state["optimizer"]`
    named = {name for value in values for name in names_in(value)}
    return True if named & own else None if named & wrapped else False


def makers_of(root: cst.CSTNode, optimizer: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The callees by which the code makes an optimizer: `SGD`, or `make_optimizer`."""
    return (call.func for value in made_of(root, optimizer) for call in of_class(value, cst.Call))


def has_optimizer(root: cst.CSTNode, made: cst.CSTNode) -> bool:
    """Whether an optimizer gets the parameters of what a call makes, by the name that it is assigned to."""
    given = [each for pairs in _given_by_name(root).values() for each in pairs]
    models = [target for target, value in given if value is made]
    return any(
        owner.deep_equals(model)
        for target, value in given
        if OPTIMIZER_OBJECT.fits(last_name(target) or holder_name(target))
        for owner in owners_in(value)
        for model in models
    )


def made_of(root: cst.CSTNode, subject: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a piece of code assigns to a name, or to an attribute."""
    given = _given_by_name(root).get(last_name(subject) or holder_name(subject), ())
    return (value for target, value in given if target.deep_equals(subject))


@tree_cache(256)
def optimizers_in(root: cst.CSTNode, code: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """The optimizers that step in a part of a function (or module)."""
    calls = (each for each in of_class(code, cst.Call) if is_step(root, each))
    return tuple(each for each in map(stepped, calls) if each is not None)


@tree_cache(64)
def _given_by_name(root: cst.CSTNode) -> dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]]:
    """What a piece of code assigns to, by the last part of its name."""
    found: dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]] = {}
    for target, value in assigned_parts(root):
        found.setdefault(last_name(target) or holder_name(target), []).append((target, value))
    return found


def owners_in(value: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The models whose parameters code asks for."""
    for call in of_class(value, cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in GIVES_PARAMETERS:
            yield call.func.value


def _names_of(model: cst.BaseExpression) -> set[str]:
    return {last_name(model), holder_name(model)} - {"", "self"}


def _wrapped_as(root: cst.CSTNode, model: cst.BaseExpression) -> set[str]:
    """The names of the first argument of what a model is made by, which it may wrap: `net` for `model = DDP(net)`."""
    made = made_of(root, model)
    inside = (_moved(each.args[0].value) for each in made if isinstance(each, cst.Call) and each.args)
    return {name for each in inside for name in _names_of(each)}


def _unwrapped_as(root: cst.CSTNode, model: cst.BaseExpression) -> set[str]:
    """The names of what is inside a wrapper: `raw` for `raw = model.module if distributed else model`."""
    given = (each for pairs in _given_by_name(root).values() for each in pairs)
    return {last_name(target) for target, value in given if any(each.deep_equals(model) for each in _opened(value))}


def _opened(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The wrappers whose model an expression asks for."""
    yield from (each.value for each in of_class(value, cst.Attribute) if each.attr.value == INNER_MODEL)
    for call in of_class(value, cst.Call):
        if last_name(call.func) in UNWRAPS and call.args:
            yield call.args[0].value


def _moved(value: cst.BaseExpression) -> cst.BaseExpression:
    """What is wrapped, wherever it is moved: `net` of `DDP(net.to(device))`."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        value = value.func.value
    return value

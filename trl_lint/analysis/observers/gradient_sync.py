"""Forwards of models: whether gradients are on, and whether the wrapper that synchronises them sees the call.

DDP prepares the synchronisation in its own forward. A forward of the module inside it computes gradients that no
wrapper hears of.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis.events import ModelCalled, ParameterRead
from trl_lint.analysis.program.classes import ClassInfo
from trl_lint.analysis.program.objects import ProjectInstance, class_of
from trl_lint.analysis.program.syntax import below, identifiers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.control import Control
from trl_lint.domain.devices import Device
from trl_lint.domain.kinds import (
    GradientSwitch,
    IterableValue,
    ModelValue,
    ParameterSource,
    TensorValue,
    library_name_of,
)
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge import models
from trl_lint.knowledge.heuristics import GATHERS_PARAMETERS
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS

# A redirection's own parameters: the wrapper, the module and the method.
REDIRECTED = 3
# In a model's `place`: it was put into evaluation mode.
EVALUATED = Device("eval")


# --- the module inside a wrapper ------------------------------------------------------------------------


def inside(frame: Frame, model: Value, node: cst.CSTNode) -> Value:
    """What a wrapper holds: bare, and its gradients are the wrapper's business."""
    why = frame.step(node, "`{}` is the module inside the wrapper", model.why)
    bare = model if isinstance(model, ModelValue) else ModelValue()
    facts = Value(SAME, wrapping=Wrapping.UNWRAPPED, grad=model.grad, device=model.device, why=why)
    return bare.with_facts_of(facts)


def part(model: Value) -> Value:
    """A submodule: where the whole is inside a wrapper, so is its part."""
    wrapping = Wrapping.UNWRAPPED if model.wrapping is Wrapping.UNWRAPPED else Wrapping.BARE
    why = model.why if wrapping is Wrapping.UNWRAPPED else None
    return ModelValue(SAME, wrapping=wrapping, grad=model.grad, device=model.device, why=why)


def copied(model: Value) -> Value:
    """A copy of a model is another one, which nothing wraps."""
    if model.kind is not Kind.MODEL or model.wrapping is not Wrapping.UNWRAPPED:
        return model
    return ModelValue(SAME, wrapping=Wrapping.BARE)


def wrapped_here(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """`DDP(net)`, `accelerator.prepare(net)`: from here on `net` is what the wrapper holds."""
    for index, value in enumerate(args.positional):
        name = args.expression(index)
        is_bare = value.kind is Kind.MODEL and value.wrapping is Wrapping.BARE
        if is_bare and isinstance(name, cst.Name) and frame.memory.names.get(name.value) is value:
            why = frame.step(node, "it is wrapped here, under another name", value.why)
            frame.memory.names[name.value] = value.but(wrapping=Wrapping.UNWRAPPED, why=why)


def switched(frame: Frame, model: Value, name: str, args: Arguments, target: Any) -> Value:
    """The model after `.eval()`, `.train()` or `.requires_grad_()`, in place as well."""
    given = next(iter(args.all()), None)
    on = given is None or given.const is not False
    if name == "requires_grad_":
        changed = model.but(grad=on)
    elif name == "eval" or (name == "train" and not on):
        changed = model.but(grad=False, device=EVALUATED) if model.grad else model
    elif name == "train" and model.device == EVALUATED:
        changed = model.but(grad=True, device="")
    else:
        return model

    while isinstance(target, cst.Call) and isinstance(target.func, cst.Attribute):
        target = target.func.value  # `model.train().requires_grad_()`
    if isinstance(target, cst.Name):
        if frame.memory.names.get(target.value) is model:
            frame.memory.names[target.value] = changed
    elif isinstance(target, cst.Attribute):
        # For the rest of this function: what others find in the attribute is told by those who assign it.
        owner = frame.engine.evaluate(frame, target.value)
        if isinstance(owner, ProjectInstance) and (owner.cls, target.attr.value) in frame.memory.attributes:
            frame.memory.attributes[owner.cls, target.attr.value] = changed
    return changed


# --- calls ----------------------------------------------------------------------------------------------


def called(frame: Frame, model: Value, node: cst.CSTNode, path: str = "") -> None:
    """A forward of a model, or of a part of it."""
    if model.wrapping in (Wrapping.UNWRAPPED, Wrapping.WRAPPED):
        names = tuple(
            (name, value)
            for name, value in frame.memory.names.items()
            if value.kind is Kind.MODEL and value.wrapping is Wrapping.WRAPPED
        )
        frame.emit(ModelCalled, node, model=model, path=path, names=names)


def is_forward(model: Value, method: str) -> bool:
    """Whether a method of a model runs (a part of) it: its forward, a submodule, a method in sight that calls some."""
    if method in models.FORWARDS or method in models.MODULES:
        return True
    cls = class_of(model)
    function = cls.find(method) if cls is not None else None
    if cls is None or function is None or function.decorators & WITHOUT_GRADIENTS or not function.parameters:
        return False
    return _runs_a_part(function.node.body, function.parameters[0].name, cls)


def _runs_a_part(body: Any, this: str, cls: ClassInfo) -> bool:
    """Whether a method calls its own `self(…)`, `self.forward(…)` or a module that `self` has."""
    submodules = cls.assigned()
    for node in below(body):
        match node:
            case cst.Call(func=cst.Name(name)) if name == this:
                return True
            case cst.Call(func=cst.Attribute(value=cst.Name(name), attr=cst.Name(own))) if name == this:
                if own in models.FORWARDS or (own in submodules and cls.find(own) is None):
                    return True
    return False


def redirects(value: Value) -> bool:
    """Whether a call of it has a wrapper's forward run what it is given."""
    cls = class_of(value)
    name = library_name_of(value) if cls is None else cls.name
    return name.rpartition(".")[2] in models.FORWARD_REDIRECTIONS


def redirected(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`redirect(wrapper, module, method, *args)`: the method runs inside the wrapper's forward."""

    if len(args.positional) < REDIRECTED:
        return frame.engine.unresolved(frame, args, node)
    method, *rest = args.positional[REDIRECTED - 1 :]
    inner = Arguments(map(_in_forward, rest), {name: _in_forward(value) for name, value in args.keywords.items()})
    inner.nodes = {index - REDIRECTED: arg for index, arg in args.nodes.items() if isinstance(index, int)}
    inner.star, inner.double = args.star, args.double
    return frame.engine.call_value(frame, method, inner, node)


def _in_forward(value: Value) -> Value:
    """A model while its wrapper's forward runs: that will synchronise what is computed with it."""
    return value.but(grad=False) if value.kind is Kind.MODEL else value


# --- where gradients are on -----------------------------------------------------------------------------


def within(frame: Frame, control: Control, items: Any, values: list[Value]) -> Control:
    """The control inside a `with` statement with these items."""
    for item, value in zip(items, values, strict=True):
        if _gathers(item.item):
            control = control.with_parameters()
        if isinstance(value, GradientSwitch) and value.on:
            control = control.without_gradients(off=False)
        elif _switches_off(frame, item.item, value):
            control = control.without_gradients()
    return control


def _switches_off(frame: Frame, node: cst.CSTNode, value: Value | None) -> bool:
    """Whether nothing is trained inside: also where only one of two arms says so, as for a reference model."""
    if isinstance(node, cst.IfExp):
        arms = (node.body, node.orelse)
        return any(_switches_off(frame, arm, frame.node_values.get(id(arm))) for arm in arms)
    if id(node) in frame.no_train_calls:
        return True
    if value is None:
        return False
    return not value.on if isinstance(value, GradientSwitch) else isinstance(value, IterableValue) and not value.grad


def _gathers(node: cst.CSTNode) -> bool:
    """Whether a context manager is one that makes sharded parameters whole, going by what it is called."""
    return any(map(GATHERS_PARAMETERS.fits, identifiers(node)))


def decorated(control: Control, decorators: frozenset[str]) -> Control:
    """The control at the start of a function with these decorators."""
    if decorators & WITHOUT_GRADIENTS:
        return control.without_gradients()
    return control.without_gradients(off=False) if "enable_grad" in decorators else control


def no_grad(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`torch.no_grad()`, `torch.inference_mode(mode=True)`."""
    given = next(iter(args.all()), None)
    return GradientSwitch(given is not None and given.const is False)


def enable_grad(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return GradientSwitch(True)


def set_grad_enabled(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """As a context manager, or as a statement that holds for what follows it."""
    given = next(iter(args.all()), None)
    if given is None or not isinstance(given.const, bool):
        return Value(SAME)
    if frame.discarded is node:
        frame.memory.control = frame.memory.control.without_gradients(off=not given.const)
    return GradientSwitch(bool(given.const))


# --- parameters -----------------------------------------------------------------------------------------


def parameter(frame: Frame, model: Value, name: str, node: cst.CSTNode) -> Value:
    """`module.weight` of what a wrapper holds, read at a node."""
    return TensorValue(SAME, ParameterSource(name, node, frame.function), why=model.why)


def computes_with(frame: Frame, value: Value, call: cst.Call) -> None:
    """A parameter is an argument of a call: where that computes with its values, the read is told to the rules.

    A function in sight may gather it first.
    """
    read = value.parameter if isinstance(value, TensorValue) else None
    if read is not None and read.function is frame.function and not _is_in_sight(frame, call.func):
        frame.emit(ParameterRead, read.node, value=value, attribute=read.name)


def _is_in_sight(frame: Frame, callee: Any) -> bool:
    """Whether a callee is a function of the project, or one that only looks at a parameter."""

    if isinstance(callee, cst.Attribute):
        owner = frame.node_values.get(id(callee.value))
        name = callee.attr.value
        cls = class_of(owner)
        is_own = cls is not None and cls.find(name) is not None
        return is_own or name in models.INSPECT_PARAMETERS
    if not isinstance(callee, cst.Name) or callee.value in models.INSPECT_PARAMETERS:
        return isinstance(callee, cst.Name)
    known = frame.engine.lookup(frame, callee.value)
    return known is not None and frame.engine.settle(known).kind in (Kind.CLASS, Kind.FUNCTION)

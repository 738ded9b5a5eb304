"""What the text of a model's class shows: which attributes are trained, and which outputs are parameters alone.

For example:

    self.head = nn.Linear(8, 2)                             trained
    self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())   trained, as a part of it has parameters
    layers.append(nn.Linear(8, 8)); self.body = nn.Sequential(*layers)    something in the model is
    self.loss = nn.CrossEntropyLoss()                       has no parameters
    self.tower = load(name)                                 not known to be trained
    self.tower = nn.Linear(8, 8).requires_grad_(False)      not trained

    return self.left(x), self.scale.exp()                   2 parts, the second is learned
    scale = self.scale.clamp(max=4); return x, scale        2 parts, the second is
    return self.left(x), self.scale * x                     none is
    return self.left(x), self.last                          none is, as `last` is no `nn.Parameter`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import (
    assignments,
    attribute_values,
    contexts_around,
    last_name,
    names_in,
    of_class,
    self_attribute,
    used_names,
)
from trl_lint.knowledge.heuristics import LOSS_CLASS, MAKES_INPUTS
from trl_lint.knowledge.models import FORWARDS, FREEZE, HAVE_PARAMETERS, HOLD_LAYERS
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


@noted_in_file
def is_trained_part(cls: ClassInfo, name: str) -> bool:
    """Whether all that a class assigns to `self.name` are modules with parameters, and none is frozen."""
    bases = cls.project_lineage()
    if any(name in names_in(line) and FREEZE & names_in(line) for base in bases for line in _lines(base.node)):
        return False
    assigned = _values_of(cls, name)
    return bool(assigned) and all(HAVE_PARAMETERS & names_in(each) for each in assigned)


def is_trained(cls: ClassInfo) -> bool:
    """Whether a model's class shows that something in it is trained: a module with parameters, or an `nn.Parameter`."""
    return bool(_parameters(cls)) or any(is_trained_part(cls, name) for name in cls.assigned()) or _lists_layers(cls)


@noted_in_file
def _lists_layers(cls: ClassInfo) -> bool:
    """Whether a class that freezes nothing fills a list with layers that have parameters, and makes a part of them."""
    node = cls.node
    lists = {_list_of_layers(each) for each in of_class(node, cst.Call)} - {""}
    parts = [value for _, value in attribute_values(node) if isinstance(value, cst.Call) and lists & used_names(value)]
    return any(last_name(each.func) in HOLD_LAYERS for each in parts) and not FREEZE & names_in(node)


def _list_of_layers(call: cst.Call) -> str:
    """The name of the list that a call adds layers with parameters to; "" for any other call."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(name), attr=cst.Name("append" | "extend"))):
            return name if HAVE_PARAMETERS & names_in(call) else ""
    return ""


def runs_a_part(
    cls: ClassInfo, method: FunctionInfo, has_no_parameters: Callable[[str], bool] = lambda name: False
) -> bool:
    """Whether a method runs the model, or a submodule of it that may be trained, with gradients.

    It calls `self(…)`, `self.forward(…)` or `self.encoder(…)`.

    has_no_parameters: Whether this is known of an attribute, by its name.
    """
    if not method.parameters:
        return False
    calls = of_class(method.node.body, cst.Call)
    this = method.parameters[0].name
    run = (each for each in calls if _is_forward(cls, each.func, this, has_no_parameters))
    return any(has_gradients(method, each) for each in run)


def has_gradients(method: FunctionInfo, call: cst.Call) -> bool:
    """Whether a method makes a call where gradients are computed."""
    return not WITHOUT_GRADIENTS & (method.decorators | contexts_around(method.node.body, call))


def _is_forward(
    cls: ClassInfo, callee: cst.BaseExpression, this: str, has_no_parameters: Callable[[str], bool]
) -> bool:
    match callee:
        case cst.Name(name):
            return name == this
        case cst.Attribute(value=cst.Name(name), attr=cst.Name(own)) if name == this:
            is_submodule = cls.find(own) is None and any(own in each.assigned() for each in cls.project_lineage())
            return own in FORWARDS or (is_submodule and not (_is_untrained(cls, own) or has_no_parameters(own)))
    return False


def _is_untrained(cls: ClassInfo, name: str) -> bool:
    """Whether a class shows that `self.name` has no parameters, or that all of them are frozen."""
    lines = [each for base in cls.project_lineage() for each in _lines(base.node) if name in names_in(each)]
    switches = [names_in(each) for each in lines if _SWITCHES & names_in(each)]
    if any("False" in each for each in switches) and not any("True" in each for each in switches):
        return True
    values = _values_of(cls, name)
    is_loss = all(isinstance(each, cst.Call) and LOSS_CLASS.fits(last_name(each.func)) for each in values)
    return MAKES_INPUTS.fits(name) or (bool(values) and is_loss)


_SWITCHES = frozenset({"requires_grad", "requires_grad_"})


def _values_of(cls: ClassInfo, name: str) -> list[cst.BaseExpression]:
    """What a class and those above it in the project assign to `self.name`."""
    assigned = (each for base in cls.project_lineage() for each in attribute_values(base.node))
    return [value for attribute, value in assigned if attribute == name]


def _lines(code: cst.CSTNode) -> list[cst.CSTNode]:
    """The lines of a piece of code, and its loops, in which a line may freeze what the head names."""
    return [*of_class(code, cst.SimpleStatementLine), *of_class(code, cst.For)]


# For a forward that returns a tuple, one flag per part: whether it is learned.
Parts = tuple[bool, ...]
NO_PARTS: Parts = ()
# What an expression of parameters alone may name besides `self`.
_LIBRARIES = frozenset({"math", "torch"})


@noted_in_file
def learned_parts(cls: ClassInfo) -> Parts:
    """The parts of the tuple that a model's forward returns; empty when none is known to be learned."""
    forward = cls.find("forward")
    returns = of_class(forward.node, cst.Return) if forward is not None else ()
    displays = [each.value for each in returns]
    if not displays or not all(isinstance(each, cst.Tuple) for each in displays):
        return NO_PARTS
    parameters = _parameters(cls)
    if forward is None or not parameters:
        return NO_PARTS
    assigned = _assigned_once(forward.node)
    of_each = {
        tuple(_is_learned(part.value, parameters, assigned) for part in display.elements)
        for display in displays
        if isinstance(display, cst.Tuple)
    }
    (parts, *others) = of_each
    return parts if any(parts) and not others else NO_PARTS


def _parameters(cls: ClassInfo) -> set[str]:
    """The attributes that are an `nn.Parameter` in every assignment."""
    found: dict[str, bool] = {}
    for each in cls.project_lineage():
        for name, value in attribute_values(each.node):
            is_made = isinstance(value, cst.Call) and last_name(value.func) == "Parameter"
            found[name] = is_made and found.get(name, True)
    return {name for name, is_parameter in found.items() if is_parameter}


def _assigned_once(function: cst.CSTNode) -> Mapping[str, cst.BaseExpression]:
    """The values of the names that are assigned exactly once."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for target, value in assignments(function):
        for name in used_names(target):
            found.setdefault(name, []).append(value)
    changed = {name for each in of_class(function, cst.AugAssign) for name in used_names(each.target)}
    return {name: values[0] for name, values in found.items() if len(values) == 1 and name not in changed}


def _is_learned(node: cst.BaseExpression, parameters: set[str], assigned: Mapping[str, cst.BaseExpression]) -> bool:
    """Whether an expression is computed from parameters of `self` and from nothing else."""
    if isinstance(node, cst.Name) and node.value in assigned:
        return _is_learned(assigned[node.value], parameters, {})
    read = {self_attribute(each) for each in of_class(node, cst.Attribute)} - {""}
    return bool(read) and read <= parameters and used_names(node) <= {"self"} | _LIBRARIES

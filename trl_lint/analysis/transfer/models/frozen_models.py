"""Models that are frozen and trained again: by `.eval()`, `.requires_grad_()`, or parameter by parameter.

For example:

    net.requires_grad_(False)             the value of `net` has no gradients from here on
    net.module.requires_grad_(False)      nor has what is around that module
    for p in net.parameters():
        p.requires_grad = False           the same
    freeze(net)                           the same, if this function of the project does one of these
    with frozen(net): ...                 in the block, if this context manager of the project does
    net.head.requires_grad_(True)         `net` has gradients again: PARTLY_FROZEN
    for name, p in net.named_parameters():
        p.requires_grad = "head" in name  `net` has gradients still: frozen but what is called head
"""

from __future__ import annotations

from itertools import takewhile

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms import gradient_switches
from trl_lint.analysis.program.idioms.gradient_switches import Code, Path, Switch, paths_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import ancestors, assigned_once, identifiers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.devices import EVALUATED, MAYBE_FROZEN, PARTLY_FROZEN, frozen_but, words_of_trained
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import models

# The kinds of values that may be frozen as a whole and then trained in part.
_FROZEN = frozenset({Kind.MODEL, Kind.UNKNOWN})
# The values of a model's `device` that `.requires_grad_()` clears.
_MODES = frozenset({EVALUATED, MAYBE_FROZEN, PARTLY_FROZEN})
# How many names in a row are followed to the model that each is another name of.
_MAX_NAMES = 3
# What the names of frozen attributes start with, among the arguments of a call.
_OF_OBJECT = "frozen "


def switched(frame: Frame, model: Value, name: str, args: Arguments, target: cst.BaseExpression | None) -> Value:
    """The model after `.eval()`, `.train()` or `.requires_grad_()`, also updated in place."""
    switch = next(iter(args.all()), None)
    on = switch is None or switch.const is not False
    if name in models.ADD_WHAT_IS_TRAINED:
        changed = model.replace(grad=True)
    elif name == "requires_grad_":
        # Frozen for good, whereas evaluation mode ends with the next `.train()`.
        changed = model.replace(grad=on, device="" if model.device in _MODES else model.device)
        if on and target is not None:
            partly_trained(frame, target)
    elif name == "eval" or (name == "train" and not on):
        mode = MAYBE_FROZEN if model.device == MAYBE_FROZEN else EVALUATED
        changed = model.replace(grad=False, device=mode) if model.grad else model
    elif name == "train" and model.device in (EVALUATED, MAYBE_FROZEN):
        changed = model.replace(grad=True, device="" if model.device == EVALUATED else model.device)
    else:
        return model

    while isinstance(target, cst.Call) and isinstance(target.func, cst.Attribute):
        target = target.func.value  # `model.train().requires_grad_()`
    _change(frame, model, changed, target)
    if name == "requires_grad_" and target is not None:
        for path in paths_of(target, {}):
            _switch(frame, Switch(path, on))
    return changed


def frozen_at(frame: Frame, name: str) -> cst.CSTNode | None:
    """The statement that has frozen the model in a variable, as far as it is one of this function."""
    return frame.notes.of(_Switched).at.get(name)


def _note_frozen(frame: Frame, name: str, on: bool) -> None:
    if not on and frame.statement is not None:
        frame.notes.of(_Switched).at[name] = frame.statement


def _change(frame: Frame, model: Value, changed: Value, target: cst.BaseExpression | None) -> None:
    """Update the value of a name, or of an attribute of an object of the project."""
    if isinstance(target, cst.Name):
        if frame.memory.names.get(target.value) is model:
            frame.memory.names[target.value] = changed
            _note_frozen(frame, target.value, changed.grad or changed.device in _MODES)
    elif isinstance(target, cst.Attribute):
        receiver = frame.engine.evaluate(frame, target.value)
        if isinstance(receiver, ProjectInstance) and (receiver.cls, target.attr.value) in frame.memory.attributes:
            _change_attribute(frame, receiver.cls, target.attr.value, changed)


def _change_attribute(frame: Frame, cls: ClassInfo, name: str, changed: Value) -> None:
    """For the rest of this function, and what it calls: for others, the assignments to the attribute count."""
    frame.memory.attributes[cls, name] = changed
    frame.notes.of(_Switched).attributes.add((cls, name))


def freeze(frame: Frame, value: Value, args: Arguments, callee: cst.CSTNode) -> None:
    """`net.requires_grad_(False)` of an otherwise unknown value: if it is a model, `prepare` does not wrap it."""
    name = callee.value if isinstance(callee, cst.Attribute) else None
    switch = next(iter(args.all()), None)
    if isinstance(name, cst.Name) and frame.memory.names.get(name.value) is value:
        on = switch is None or switch.const is not False
        frame.memory.names[name.value] = value.replace(grad=on)
        _note_frozen(frame, name.value, on)


def partly_trained(frame: Frame, part: cst.BaseExpression) -> None:
    """`model.head.requires_grad_()`: a model with a trained part has gradients, even if the rest is frozen."""
    while isinstance(part, (cst.Attribute, cst.Call, cst.Subscript)):
        part = part.func if isinstance(part, cst.Call) else part.value
    value = frame.memory.names.get(part.value) if isinstance(part, cst.Name) else None
    if isinstance(part, cst.Name) and value is not None and value.kind in _FROZEN and not value.grad:
        frame.memory.names[part.value] = value.replace(grad=True, device=PARTLY_FROZEN)


def parameter_trained(frame: Frame, receiver: cst.BaseExpression) -> None:
    """`p.requires_grad = True`, for a parameter of a model, or for one that a loop takes from it."""
    root = frame.root
    for loop in ancestors(root, frame.statement):
        if isinstance(loop, cst.For) and isinstance(receiver, cst.Name) and receiver.value in identifiers(loop.target):
            for name in set(identifiers(loop.iter)):
                partly_trained(frame, cst.Name(name))
    partly_trained(frame, receiver)


# --- by other code --------------------------------------------------------------------------------------


class _Switched:
    """What a function freezes.

    entered: by the id of their call, what the context managers of the project freeze as they are entered. attributes:
    the attributes that are frozen, or have been. at: the statements by which variables were last frozen, by name.
    """

    def __init__(self) -> None:
        self.at: dict[str, cst.CSTNode] = {}
        self.entered: dict[int, list[Switch]] = {}
        self.attributes: set[tuple[ClassInfo, str]] = set()


def switched_by(frame: Frame, loop: cst.For) -> None:
    """`for p in net.parameters(): p.requires_grad = False`: from here on the whole of `net` is frozen."""
    if gradient_switches.may_switch(frame.module, loop):
        for each in gradient_switches.switches([loop], _code(frame)):
            if each is not None:
                _switch(frame, each)


def note_call(frame: Frame, function: FunctionInfo, args: Arguments, node: cst.CSTNode, is_bound: bool) -> None:
    """What a call of a function of the project freezes or trains again: what it is passed, and what its object has."""
    if not isinstance(node, cst.Call) or not gradient_switches.may_switch(function.module, function.node):
        return
    if {id(each) for each in args.nodes.values()} != {id(each) for each in node.args if not each.star}:
        return  # a library calls it
    passed = gradient_switches.arguments(function, node, is_bound)
    found = list(gradient_switches.of_call(function, passed, _code(frame)))
    if "contextmanager" in function.decorators:
        before = [each for each in takewhile(lambda each: each is not None, found) if each is not None]
        frame.notes.of(_Switched).entered[id(node)] = before
        return
    for each in found:
        if each is not None:
            _switch(frame, each)


def enter(frame: Frame, manager: cst.CSTNode) -> list[Switch]:
    """Freeze what a context manager of the project freezes. Returns what undoes it at the end of the block."""
    undone = []
    for each in frame.notes.of(_Switched).entered.pop(id(manager), ()):
        if _switch(frame, each):
            undone.append(Switch(each.path, not each.on))
    return undone


def leave(frame: Frame, undone: list[Switch]) -> None:
    for each in undone:
        _switch(frame, each)


def of_object(frame: Frame, receiver: Value | None) -> dict[str, Value]:
    """The frozen attributes of the object whose method is called here, by names that no code can have."""
    cls = receiver.cls if isinstance(receiver, ProjectInstance) else None
    switched = frame.notes.of(_Switched).attributes if cls is not None else ()
    names = sorted(name for owner, name in switched if owner is cls)
    values = ((name, frame.memory.attributes.get((cls, name))) for name in names if cls is not None)
    return {f"{_OF_OBJECT}{name}": value for name, value in values if value is not None and not value.grad}


def enter_method(frame: Frame, cls: ClassInfo | None) -> None:
    """Take over the frozen attributes with which a method is called."""
    for name in [each for each in frame.memory.names if each.startswith(_OF_OBJECT)]:
        value = frame.memory.names.pop(name)
        if cls is not None:
            _change_attribute(frame, cls, name.removeprefix(_OF_OBJECT), value)


def _code(frame: Frame) -> Code:
    """The code of a frame, for which the names of models are those of its own state."""

    def known(test: cst.BaseExpression) -> bool | None:
        value = frame.known_value(test)
        const = None if value is None else value.const
        return const if isinstance(const, bool) else None

    def find(function: FunctionInfo | None, callee: cst.BaseExpression) -> FunctionInfo | None:
        match callee:
            case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)) if function is not None:
                is_own = function.cls is not None and function.parameters and function.parameters[0].name == owner
                return function.cls.find(name) if is_own and function.cls is not None else None
        inside = frame if function is None else Frame(frame.engine, function.module)
        return function_of(inside, callee)

    return Code({}, known, find)


def _switch(frame: Frame, switch: Switch) -> bool:
    """Freeze a model, or train it again, under all of its names. Returns whether that changes anything."""
    path = _own_path(frame, switch.path)
    changed = _set(frame, path, switch)
    for name in list(frame.memory.names) if changed else ():
        if (name,) != path and "." not in name and _own_path(frame, (name,)) == path:
            _set(frame, (name,), switch)
    return changed


def _own_path(frame: Frame, path: Path) -> Path:
    """The first of the names of a model: `d` for `inner`, after `inner = d.module`."""
    for _ in range(_MAX_NAMES):
        value = assigned_once(frame.root, path[0])
        paths = () if value is None else paths_of(value, {})
        if len(paths) != 1 or isinstance(value, (cst.List, cst.Tuple)) or path[0] in paths[0]:
            break
        path = (*paths[0], *path[1:])
    return path


def _set(frame: Frame, path: Path, switch: Switch) -> bool:
    """Change the value of the name, or of the attribute of an object of the project, that a path leads to."""
    name, *attributes = path
    value = frame.memory.names.get(name)
    if value is None:
        known = frame.engine.lookup(frame, name)
        value = None if known is None else frame.engine.settle(known)
    owner: ClassInfo | None = None
    while value is not None and attributes and isinstance(value, ProjectInstance) and value.kind is Kind.INSTANCE:
        owner, name = value.cls, attributes.pop(0)
        value = frame.read_attribute(owner, name)
    if value is None or not (value.kind in _FROZEN or isinstance(value, PreparedObject)):
        return False
    if attributes and not switch.on:
        return False  # a part of it is frozen
    changed = _changed(value, switch, bool(attributes))
    if changed is None:
        return False
    if owner is None:
        frame.memory.names[name] = changed
        _note_frozen(frame, name, changed.grad)
    else:
        _change_attribute(frame, owner, name, changed)
    return True


def _changed(value: Value, switch: Switch, is_part: bool) -> Value | None:
    """The model after it, or a part of it, is switched; None if it is as before."""
    if switch.but is not None and not switch.on:
        is_trained = value.device == EVALUATED or (value.grad and value.device not in _MODES)
        return value.replace(grad=True, device=frozen_but(switch.but)) if is_trained else None
    is_by_name = words_of_trained(value.device) is not None
    if value.grad is switch.on and switch.on and is_by_name and switch.but is None:
        return value.replace(device="")
    if value.grad is switch.on and (switch.on or value.device not in _MODES):
        return None  # a model that is only in evaluation mode is not frozen yet
    device = PARTLY_FROZEN if is_part else "" if value.device in _MODES or is_by_name else value.device
    return value.replace(grad=switch.on, device=device)

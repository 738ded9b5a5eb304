"""Whether a method of a model runs it, or a part of it that is trained, past the wrapper.

def training_step(self, batch):       runs it: `model.module.training_step(batch)` passes the wrapper by
    return self.loss_of(self(batch))

def step(self, batch):                runs it, by another method: also by `super().step(batch)`, `Other.step(self)`
    return self.training_step(batch)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.model_attributes import has_gradients, is_trained_part, runs_a_part
from trl_lint.analysis.program.definitions.objects import ClassValue, class_of
from trl_lint.analysis.program.definitions.without_parameters import has_no_parameters
from trl_lint.analysis.program.syntax import attribute_values, of_class
from trl_lint.domain.kinds import LibraryName, ProjectName
from trl_lint.knowledge import models

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def runs_any(method: str) -> bool:
    """Whether an attribute of any model with this name is its forward, or a part of it."""
    return method in models.FORWARDS or method in models.MODULES or method in models.RUN_A_TOWER


def runs_a_forward(frame: Frame, model: Value, method: str) -> bool:
    """Whether a method of a model runs (a part of) it: its forward, a submodule, a known method that calls these."""
    if runs_any(method):
        return True
    cls = class_of(model)
    function = cls.find(method) if cls is not None else None
    if cls is None or function is None:
        return cls is not None and is_trained_part(cls, method)
    return _runs(frame, cls, function, set())


def _runs(frame: Frame, cls: ClassInfo, method: FunctionInfo, seen: set[FunctionInfo]) -> bool:
    if method in seen:
        return False
    seen.add(method)
    if runs_a_part(cls, method, partial(_makes_none, frame, cls)):
        return True
    return any(_runs(frame, cls, each, seen) for each in _called_on_itself(frame, cls, method))


def _called_on_itself(frame: Frame, cls: ClassInfo, method: FunctionInfo) -> Iterator[FunctionInfo]:
    """The methods that a method calls on the model, where gradients are computed."""
    if not method.parameters:
        return
    this = method.parameters[0].name
    for call in of_class(method.node.body, cst.Call):
        called: FunctionInfo | None = None
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name(owner), attr=cst.Name(name))) if owner == this:
                called = cls.find(name)
            case cst.Call(func=cst.Attribute(value=cst.Call(func=cst.Name("super"), args=[]), attr=cst.Name(name))):
                called = cls.find_above(name, method.cls)
            case cst.Call(
                func=cst.Attribute(value=owner, attr=cst.Name(name)), args=[cst.Arg(value=cst.Name(given)), *_]
            ) if given == this:
                other = _class_named(frame, method.module, owner)
                called = None if other is None else other.find(name)
        if called is not None and has_gradients(method, call):
            yield called


def _makes_none(frame: Frame, cls: ClassInfo, attribute: str) -> bool:
    """Whether all that a class assigns to an attribute are modules of the project that have no parameters."""
    made = [
        _class_named(frame, base.module, value.func) if isinstance(value, cst.Call) else None
        for base in cls.project_lineage()
        for name, value in attribute_values(base.node)
        if name == attribute
    ]
    return bool(made) and all(each is not None and has_no_parameters(each) for each in made)


def _class_named(frame: Frame, module: Module, callee: cst.BaseExpression) -> ClassInfo | None:
    """The class of the project that `Name` or `file.Name` is in a module."""
    match callee:
        case cst.Name(name):
            value = frame.engine.global_name(module, name, frame)
        case cst.Attribute(value=cst.Name(owner), attr=cst.Name(name)):
            outer = frame.engine.global_name(module, owner, frame)
            outer = None if outer is None else frame.engine.settle(outer)
            if not isinstance(outer, (LibraryName, ProjectName)):
                return None
            value = frame.engine.member(outer, name)
        case _:
            return None
    value = None if value is None else frame.engine.settle(value)
    return value.cls if isinstance(value, ClassValue) else None

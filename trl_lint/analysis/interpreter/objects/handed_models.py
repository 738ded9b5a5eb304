"""Wrapped models that are passed to an object of a project class by code that does not know its class.

    # train.py
    self.network = FAMILIES[args.family](args)                 of no known class
    self.network.set_prepared(accelerator.prepare(model))      noted: `set_prepared` is passed a wrapped model
    # networks.py, in the only class that has a `set_prepared`, or in a subclass of it
    def set_prepared(self, model): self.model = model
    def predict(self, x):
        return self.model(x, self.model.config.scale)          WRAPPED: the model run here is the one that was passed

Before that call, the attribute may hold the bare model, and setup code may read from it. Therefore only code that runs
the model counts: a training step does so with the wrapped one.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.domain.kinds import ModelValue
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import Kind, Value, Wrapping


class PassedModels:
    """By method name, the positions of arguments at which a wrapped model is passed, each with its provenance."""

    def __init__(self) -> None:
        self.by_method: dict[str, dict[int, Step]] = {}


def note(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """Note a call of a method of an object of no known class."""
    for index, value in enumerate(args.positional):
        if wrapped_models.is_wrapped(value):
            known = frame.engine.project.notes.of(PassedModels).by_method.setdefault(name, {})
            known[index] = frame.step(node, "the wrapped model is passed here", value.provenance)
            frame.engine.note_stored(PassedModels, name, index, known[index])


def passed_model(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The wrapped model in `self.name`, in a method that runs it, if a noted call has passed it; else `value`."""
    passed = frame.engine.project.notes.of(PassedModels)
    if value.kind is not Kind.UNKNOWN or not passed.by_method:
        return value
    if frame.function is None or not frame.memory.control.grad:
        return value
    for method, positions in passed.by_method.items():
        setter = cls.find(method)
        at = None if setter is None else _stored_parameters(setter).get(name)
        if setter is None or at not in positions or setter is frame.function:
            continue
        if _runs(frame.function, name) and _is_unique(frame.engine.project, method):
            return ModelValue(SAME, wrapping=Wrapping.WRAPPED, provenance=positions[at])
    return value


def _stored_parameters(method: FunctionInfo) -> dict[str, int]:
    """The attributes in which a method stores its parameters, each with the parameter's position."""
    return method.module.notes.cached((_stored_parameters, method), partial(_find_stored_parameters, method))


def _find_stored_parameters(method: FunctionInfo) -> dict[str, int]:
    positions = {parameter.name: index for index, parameter in enumerate(method.parameters[1:])}
    return {
        name: positions[assign.value.value]
        for assign in of_class(method.node, cst.Assign)
        for target in assign.targets
        if isinstance(assign.value, cst.Name)
        and assign.value.value in positions
        and (name := self_attribute(target.target))
    }


def _runs(function: FunctionInfo, name: str) -> bool:
    return any(self_attribute(call.func) == name for call in of_class(function.node, cst.Call))


def _is_unique(project: Project, method: str) -> bool:
    """Whether no other class of the project has a method of this name, and there is only one call of it."""
    return project.notes.cached((_is_unique, method), partial(_occurrences, project, method)) == 1


def _occurrences(project: Project, method: str) -> int:
    """The number of functions of this name in the project, or of calls of them, whichever is larger."""
    texts = (f"def {method}(", f".{method}(")
    return max(sum(project.count(path, text) for path in project.linted) for text in texts)

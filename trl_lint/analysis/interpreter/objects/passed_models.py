"""Wrapped models that other code puts into an object of a project class: the class itself does not show it.

A trainer of sentence_transformers assigns the wrapper to the attribute of a loss before it calls the loss:

    class Contrastive(nn.Module):
        def __init__(self, model: SentenceTransformer):
            self.model = model                             bare
        def forward(self, features, labels):
            self.model.tokenizer                           WRAPPED: in training, under DDP and DataParallel
    SentenceTransformerTrainer(model, loss=Contrastive(model))

Code that does not know the class of an object passes it a wrapped model:

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

from collections.abc import Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.definitions.objects import ProjectModel
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.program.syntax import attribute_values, of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.given_functions import GivenFunction
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.domain.kinds import ModelRole, ModelValue
from trl_lint.domain.model_roles import in_model_role
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import SAME
from trl_lint.domain.values import Kind, Value, Wrapping
from trl_lint.knowledge.model_libraries import LOSS, LOSS_TRAINERS, MODEL_OF_LOSS

_CALLED = "forward"


class Losses:
    """The classes of losses that a trainer is passed, each with the place."""

    def __init__(self) -> None:
        self.by_class: dict[ClassInfo, Step] = {}


def note_losses(frame: Frame, trainer: str, args: Arguments, node: cst.CSTNode) -> None:
    """Note the losses that a trainer of sentence_transformers is passed, and enter their `forward`."""
    if trainer.rpartition(".")[2] not in LOSS_TRAINERS:
        return
    noted = frame.engine.project.notes.of(Losses).by_class
    for cls in _losses(frame, args.keywords.get(LOSS)):
        forward = cls.find(_CALLED)
        if forward is None or not _keeps_its_model(cls):
            continue
        step = frame.step(node, "the trainer puts the wrapped model into this loss")
        for each in cls.project_lineage():
            noted.setdefault(each, step)
            frame.engine.note_stored(Losses, each)
        frame.engine.enter(GivenFunction(forward, {}, cls))


def _losses(frame: Frame, value: Value | None) -> Iterator[ClassInfo]:
    """The classes of a loss, or of a dictionary of losses."""
    if isinstance(value, ProjectModel):
        yield value.cls
    elif value is not None:
        yield from (item.cls for item in frame.memory.contents(value) if isinstance(item, ProjectModel))


def _keeps_its_model(cls: ClassInfo) -> bool:
    """Whether its `__init__` assigns a parameter to the attribute."""
    init = cls.find("__init__")
    return init is not None and MODEL_OF_LOSS in _stored_parameters(init)


def model_of_loss(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` in what the `forward` of a noted loss runs; `value` elsewhere."""
    if name != MODEL_OF_LOSS or frame.function is None or value.kind not in (Kind.MODEL, Kind.UNKNOWN):
        return value
    step = frame.engine.project.notes.of(Losses).by_class.get(cls.origin)
    if step is None or frame.function.name not in _run_by_forward(cls):
        return value
    model = value if isinstance(value, ModelValue) else ModelValue(SAME)
    return in_model_role(model, ModelRole.TRAINED).replace(wrapping=Wrapping.WRAPPED, provenance=step)


def _run_by_forward(cls: ClassInfo) -> frozenset[str]:
    """The names of `forward` and of the methods that it calls, directly or through others."""
    work = partial(call_order.methods_run_by, cls, _CALLED)
    return frozenset(each.name for each in cls.notes.cached(_run_by_forward, work))


class PassedModels:
    """By method name, the positions of arguments at which a wrapped model is passed, each with its provenance."""

    def __init__(self) -> None:
        self.by_method: dict[str, dict[int, Step]] = {}


def note_argument(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
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


@noted_in_file
def _stored_parameters(method: FunctionInfo) -> dict[str, int]:
    """The attributes in which a method stores its parameters, each with the parameter's position."""
    positions = {parameter.name: index for index, parameter in enumerate(method.parameters[1:])}
    return {
        name: positions[value.value]
        for name, value in attribute_values(method.node)
        if isinstance(value, cst.Name) and value.value in positions
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

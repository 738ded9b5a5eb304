"""Losses that keep their model: a trainer of sentence_transformers replaces it by the wrapped one.

    class Contrastive(nn.Module):
        def __init__(self, model: SentenceTransformer):
            self.model = model                             bare
        def forward(self, features, labels):
            self.model.tokenizer                           WRAPPED: in training, and on several processes
    SentenceTransformerTrainer(model, loss=Contrastive(model))

Under DDP and DataParallel the trainer assigns the wrapper to the loss's attribute before it calls the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectModel
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
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


def note(frame: Frame, trainer: str, args: Arguments, node: cst.CSTNode) -> None:
    """Note the losses that such a trainer is passed, and enter their `forward`."""
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
        frame.engine.enter(forward, {}, cls)


def _losses(frame: Frame, value: Value | None) -> Iterator[ClassInfo]:
    """The classes of a loss, or of a dictionary of losses."""
    if isinstance(value, ProjectModel):
        yield value.cls
    elif value is not None:
        yield from (item.cls for item in frame.memory.contents(value) if isinstance(item, ProjectModel))


def _keeps_its_model(cls: ClassInfo) -> bool:
    """Whether its `__init__` assigns a parameter to the attribute."""
    init = cls.find("__init__")
    if init is None:
        return False
    names = {each.name for each in init.parameters[1:]}
    assigned = (
        each.value
        for each in of_class(init.node, cst.Assign)
        for target in each.targets
        if self_attribute(target.target) == MODEL_OF_LOSS
    )
    return any(isinstance(value, cst.Name) and value.value in names for value in assigned)


def wrapped_value(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` in what `forward` of such a loss runs; `value` elsewhere."""
    if name != MODEL_OF_LOSS or frame.function is None or value.kind not in (Kind.MODEL, Kind.UNKNOWN):
        return value
    step = frame.engine.project.notes.of(Losses).by_class.get(cls.origin)
    if step is None or frame.function.name not in _run_by_forward(cls):
        return value
    model = value if isinstance(value, ModelValue) else ModelValue(SAME)
    return in_model_role(model, ModelRole.TRAINED).replace(wrapping=Wrapping.WRAPPED, provenance=step)


def _run_by_forward(cls: ClassInfo) -> frozenset[str]:
    """The names of `forward` and of the methods that it calls, directly or through others."""
    return cls.notes.cached(_run_by_forward, partial(_find_run_by_forward, cls))


def _find_run_by_forward(cls: ClassInfo) -> frozenset[str]:
    found = [_CALLED]
    for name in found:
        method: FunctionInfo | None = cls.find(name)
        calls = of_class(method.node, cst.Call) if method is not None else ()
        found += {self_attribute(each.func) for each in calls} - {*found, "", "__init__"}
    return frozenset(found)

"""The models that engines of DeepSpeed run: an engine hands on to its model all attributes that it has not itself.

For example:

    engine, *_ = deepspeed.initialize(model=net)     an engine of the class of `net`, if the project defines that
    engine                                           as a model: it may be wrapped; nothing is said of attributes
    engine.module                                    BARE: the engine synchronises gradients in its own `backward`
    engine.loss_of                                   a method of the module, unless the engine has one with this name
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import EngineOfModel, ProjectModel
from trl_lint.analysis.program.definitions.self_trained import as_wrappable
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.domain.kinds import BoundMethod, class_name_of
from trl_lint.domain.values import Wrapping
from trl_lint.knowledge.engines import ENGINE, HIDDEN
from trl_lint.knowledge.models import FORWARDS, INNER_MODEL
from trl_lint.knowledge.schema import SOME_MODEL

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def engine_of(model: Value | None, engine: Value) -> Value:
    """The engine that runs a model; one of which no more is known, if the project does not define the model."""
    wrapped = None if model is None else as_wrappable(model)
    return EngineOfModel(wrapped.cls).with_facts_of(engine) if isinstance(wrapped, ProjectModel) else engine


def model_of(engine: Value) -> Value:
    """An engine as the model that its call runs."""
    if isinstance(engine, EngineOfModel):
        return ProjectModel(engine.cls, wrapping=Wrapping.UNKNOWN)
    return SOME_MODEL


def module_of(engine: Value) -> Value | None:
    """The model inside an engine; None if it is not known."""
    return ProjectModel(engine.cls, wrapping=Wrapping.BARE) if isinstance(engine, EngineOfModel) else None


def attribute(engine: Value, name: str) -> Value | None:
    """The module of an engine, or a method of it; None for other attributes."""
    module = module_of(engine)
    if module is None or name == INNER_MODEL:
        return module
    return BoundMethod(module, name) if hands_on(engine, name) else None


def is_run_by_engine(frame: Frame, method: cst.CSTNode) -> bool:
    """Whether the object of a method is an engine or the module in one: `engine.generate`, `engine.module.generate`."""
    owner = method.value if isinstance(method, cst.Attribute) else None
    if isinstance(owner, cst.Attribute) and owner.attr.value == INNER_MODEL:
        owner = owner.value
    return owner is not None and class_name_of(frame.value_of(owner)) == ENGINE


def is_run_here(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether a call runs the model of an engine: `engine(batch)`, `engine.forward(batch)`, `engine.module(batch)`."""
    callee = callee_of(call)
    while isinstance(callee, cst.Attribute) and callee.attr.value in _OF_FORWARD:
        callee = callee.value
    return callee is not None and class_name_of(frame.engine.evaluate(frame, callee)) == ENGINE


def runs_unknown_module(receiver: Value, name: str) -> bool:
    """Whether a method is the model in an engine, `engine.module(batch)`, of which no class is known."""
    return name == INNER_MODEL and class_name_of(receiver) == ENGINE and module_of(receiver) is None


_OF_FORWARD = FORWARDS | {INNER_MODEL}


def hands_on(engine: Value, name: str) -> bool:
    """Whether a method of an engine is that of its model."""
    if not isinstance(engine, EngineOfModel) or name in HIDDEN or name in FORWARDS:
        return False
    method = engine.cls.find(name)
    return method is not None and not method.is_property

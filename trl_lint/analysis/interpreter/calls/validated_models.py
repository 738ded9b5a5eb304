"""Models of pydantic that are made from data in one piece, which pydantic takes apart by the names of their fields.

settings = Settings.model_validate(config)     the same as `Settings(**config)`
settings.model.name                            of `{"model": {"name": name}}`: the dict of a field that is a model
                                               itself makes an object of that model
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.calls import call_arguments, instantiation
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state import records
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Value
from trl_lint.knowledge.python import PYDANTIC_MODEL, VALIDATE


def validated(frame: Frame, cls: ClassInfo, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The object that a method of a model makes from data; None for other classes and methods."""
    data = args.get(0, "obj") if name in VALIDATE else None
    return None if data is None or not _is_model(cls) else _made(frame, cls, data, node)


def _made(frame: Frame, cls: ClassInfo, data: Value, node: cst.CSTNode) -> Value:
    given = Arguments()
    call_arguments.add_double(frame, given, data)
    for name, value in given.keywords.items():
        inner = _model_of(frame, cls, name) if isinstance(value, ContainerValue) else None
        if inner is not None:
            given.keywords[name] = _made(frame, inner, value, node)
    return instantiation.instantiate(frame, cls, given, node)


def _is_model(cls: ClassInfo) -> bool:
    return PYDANTIC_MODEL in cls.library_bases()


def _model_of(frame: Frame, cls: ClassInfo, field: str) -> ClassInfo | None:
    """The class of the models that a field holds, if its annotation is one."""
    owner, annotation = records.annotation_of(cls, field)
    if annotation is None:
        return None
    value = frame.engine.annotated(Frame(frame.engine, owner.module), annotation)
    return value.cls if isinstance(value, ProjectInstance) and _is_model(value.cls) else None

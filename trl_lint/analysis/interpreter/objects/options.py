"""The options of a choice between objects that have an attribute; the program reads it of no other."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import present_on_some
from trl_lint.analysis.program.blocks import is_blank
from trl_lint.analysis.program.definitions.changed_state import is_set_outside_class
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, is_module_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.choices import AmongOthers, OneOfProjectObjects, ProjectChoice, is_metric
from trl_lint.domain.kinds import BoundMethod
from trl_lint.domain.values import UNKNOWN, Value


def having(frame: Frame, choice: ProjectChoice, name: str) -> tuple[Value, ...]:
    """The options that may have an attribute or a method of this name; all of them if none has.

    What both a metric of torchmetrics and an object of the project have is unknown: ranks meet in that of the metric.
    """
    found = [
        each for each in choice.options if not (isinstance(each, ProjectInstance) and _lacks(frame, each.cls, name))
    ]
    if isinstance(choice, OneOfProjectObjects) and 0 < sum(map(is_metric, found)) < len(found):
        return (UNKNOWN,)
    return tuple(found) or choice.options


def methods(choice: AmongOthers, name: str) -> AmongOthers | None:
    """The methods of this name of the options that have one; None if none has."""
    having = (each for each in choice.options if isinstance(each, ProjectInstance) and _has_method(each.cls, name))
    found = tuple(BoundMethod(each, name) for each in having)
    return choice.with_parts(found) if found else None


def _has_method(cls: ClassInfo, name: str) -> bool:
    method = cls.find(name)
    return method is not None and not method.is_property


def written_out(choice: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    """The options whose method of this name does something; all of them if none does, or it is not known.

    A class in which it is `pass` has nothing that the program could use: the result is that of the others.
    """
    found = [each for each in choice if not (isinstance(each, ProjectInstance) and _is_blank(each.cls.find(name)))]
    return tuple(found) or choice


def _is_blank(method: FunctionInfo | None) -> bool:
    return method is not None and isinstance(method.node, cst.FunctionDef) and is_blank(method.node.body)


def _lacks(frame: Frame, cls: ClassInfo, name: str) -> bool:
    return not is_module_class(cls) and lacks(frame, cls, name)


def lacks(frame: Frame, cls: ClassInfo, name: str) -> bool:
    """Whether no object of a class has an attribute or a method of this name, unless it is one of all modules."""
    if present_on_some.may_have(cls, name) or hasattr(object, name):
        return False
    lineage = cls.project_lineage()
    is_bound = any(name in each.assigned() or is_set_outside_class(each.module, name) for each in lineage)
    return not is_bound and frame.engine.class_variable(cls, name) is None

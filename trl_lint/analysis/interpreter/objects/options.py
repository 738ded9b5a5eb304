"""The options of a choice between objects that have an attribute; the program reads it of no other."""

from __future__ import annotations

from trl_lint.analysis.interpreter.objects import present_on_some
from trl_lint.analysis.program.definitions.changed_state import is_set_outside_class
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.choices import ProjectChoice
from trl_lint.domain.values import Value


def having(frame: Frame, choice: ProjectChoice, name: str) -> tuple[Value, ...]:
    """The options that may have an attribute or a method of this name; all of them if none has."""
    found = [
        each for each in choice.options if not (isinstance(each, ProjectInstance) and _lacks(frame, each.cls, name))
    ]
    return tuple(found) or choice.options


def _lacks(frame: Frame, cls: ClassInfo, name: str) -> bool:
    if present_on_some.may_have(cls, name) or is_module_class(cls) or hasattr(object, name):
        return False
    lineage = cls.project_lineage()
    is_bound = any(name in each.assigned() or is_set_outside_class(each.module, name) for each in lineage)
    return not is_bound and frame.engine.class_variable(cls, name) is None

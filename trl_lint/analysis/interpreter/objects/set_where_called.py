"""Attributes that a method sets which only some ranks call.

For example:

    class Trainer:
        def __init__(self, rank):
            if rank == 0:
                self.start_log()        noted: the only call of the method in the project
        def start_log(self):
            self.log = open("log")      `log` is lacking on the other ranks
        def train(self):
            self.log.write("starts")    those that lack it fail here, also where it is None at first
            hasattr(self, "log")        differs between ranks
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trl_lint.analysis.interpreter.objects.prepared_on_one import attribute_targets
from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.definitions.changed_state import is_set_only_in, uses_of_method_of
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import attribute_values, has_text, is_literal_none
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.absences import CalledOnSome
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.values import Kind, Value


def absence_of(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Absence | None:
    """Why ranks lack an attribute that a function reads without asking for it."""
    if value.absence is not None or frame.function is None:
        return None
    found = lacking(frame, cls, name)
    return None if found is None or has_text(frame.function.node, name) else found


def lacking(frame: Frame, cls: ClassInfo, name: str) -> Absence | None:
    """Why ranks lack an attribute, if a method that only the others call is all that gives it a value."""
    if (cls, name) in frame.objects.attribute_writes:
        return None
    called = _called(cls)
    setter = _setter(cls, name) if called else None
    if setter is None or setter.name not in called or frame.function is None:
        return None
    if _is_run_by(cls, called, frame.function):
        return None
    absence, variable = called[setter.name], frame.engine.class_variable(cls, name)
    if variable is not None and variable.kind is not Kind.NONE:
        return None
    project, classes = frame.engine.project, cls.project_lineage()
    if uses_of_method_of(project, classes, setter.name) != 1 or not is_set_only_in(project, classes, name):
        return None
    is_none = variable is not None or any(_sets_none(each, name) for each in cls.project_methods())
    return absence.with_other(Instead.NONE) if is_none else absence


def _called(cls: ClassInfo) -> Mapping[str, Absence]:
    """The methods that only some ranks call on objects of a class."""
    return {
        method: absence
        for each in cls.project_lineage()
        for method, absence in each.origin.notes.of(CalledOnSome).by_method.items()
    }


def _is_run_by(cls: ClassInfo, methods: Iterable[str], function: FunctionInfo) -> bool:
    """Whether a function is one of some methods of a class, or one that they call: only some ranks may run it."""
    return any(each is function for name in methods for each in methods_run_by(cls, name))


@noted
def _setter(cls: ClassInfo, name: str) -> FunctionInfo | None:
    """The only method that assigns an attribute of `self` something else than None, but for the constructor."""
    found = [method for method in cls.project_methods() if _sets(method, name)]
    is_one = len(found) == 1 and found[0].name != "__init__" and cls.find(found[0].name) is found[0]
    return found[0] if is_one else None


def _sets(method: FunctionInfo, name: str) -> bool:
    bound = sum(each == name for each, _ in attribute_targets(method))
    return bound > sum(each == name and is_literal_none(value) for each, value in attribute_values(method.node))


def _sets_none(method: FunctionInfo, name: str) -> bool:
    return any(bound == name and is_literal_none(value) for bound, value in attribute_values(method.node))

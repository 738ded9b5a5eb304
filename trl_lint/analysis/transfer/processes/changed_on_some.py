"""Methods of objects that only some ranks call, so that what they leave in the object may differ between ranks.

For example:

    if rank == 0:
        self.stopping(score)        noted: `__call__` of the class of `self.stopping`
        self.mark(score)            noted: `mark` of this class
    if rank == 0: self.save(0)
    else: self.save(1)              not noted: all ranks call it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import attribute_values, of_class

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.transfer.processes.absences import Division
    from trl_lint.domain.heap import Memory
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value


class ChangedOnSome:
    """The methods that some ranks call on objects of a class, with the only such call; None if there are several."""

    def __init__(self) -> None:
        self.by_method: dict[tuple[ClassInfo, str], Step | None] = {}


def note_calls(division: Division, code: cst.CSTNode, memory: Memory) -> None:
    """Note the methods of objects that are called in a branch that only some ranks take. memory: at its end."""
    frame = division.frame
    for call in of_class(code, cst.Call):
        cls, method = _called(frame, call.func, memory)
        if cls is None or method is None or method.name == "__init__":
            continue
        noted, key = cls.notes.of(ChangedOnSome).by_method, (cls, method.name)
        known = noted.get(key)
        if key in noted and (known is None or known.node is call):
            continue
        text = "only the ranks that get here call `{}`"
        noted[key] = None if key in noted else frame.step(call, text, division.condition)
        for attribute, _ in attribute_values(method.node):
            cls.count(attribute)  # what has read it so far did not know
        frame.engine.note_stored(ChangedOnSome, method, id(call))


def _called(frame: Frame, callee: cst.BaseExpression, memory: Memory) -> tuple[ClassInfo | None, FunctionInfo | None]:
    """The method of an object of the project that an expression calls, with the class of the object."""
    value: Value | None = None
    if isinstance(callee, cst.Name):
        value = memory.names.get(callee.value)
    elif isinstance(callee, cst.Attribute):
        owner = frame.known_value(callee.value)
        if not isinstance(owner, ProjectInstance):
            return None, None
        method = owner.cls.find(callee.attr.value)
        if method is not None:
            return owner.cls, method
        value = memory.attributes.get((owner.cls, callee.attr.value))
    return (value.cls, value.cls.find("__call__")) if isinstance(value, ProjectInstance) else (None, None)

"""Attributes of a class itself: a value from its body, or the only object of the class, made where it is first needed.

    class Comm:
        _made = None
        steps = 0
        @classmethod
        def get(cls):
            if cls._made is None:
                cls._made = cls()
            return cls._made            an object of the class, which may be missing until then

    Comm.steps += 1                     not known where it is read, as other code has changed it

What is made of another class, or under other names, is not looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.changed_state import is_set_on_class
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import assignments, is_literal_none, is_super
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value

# The kinds of class variables that hold state: a number, a flag, or None at first.
_STATES = frozenset({Kind.NONE, Kind.NUMBER})
# The name that methods of a class have for it, and the method that makes an object.
_CLASS, _NEW = "cls", "__new__"


def read(frame: Frame, cls: ClassInfo, name: str) -> Value:
    """The value of `Class.name`, which is no method."""
    variable = frame.engine.class_variable(cls, name, frame)
    is_open = variable is None or variable is UNKNOWN or variable.kind is Kind.NONE
    if is_open and not is_module_class(cls) and any(_is_only_object(each, name) for each in cls.project_lineage()):
        return ProjectInstance(cls).replace(rank=ranks.UNKNOWN)  # it may be missing, on all ranks or on some
    value = variable or SAME
    return UNKNOWN if value.kind in _STATES and is_set_on_class(cls.module, cls.name, name) else value


@noted_in_file
def _is_only_object(cls: ClassInfo, name: str) -> bool:
    """Whether all that the file of a class assigns to one of its attributes is an object of it, or None."""
    values = [each for each in _assigned(cls, name) if not is_literal_none(each)]
    return bool(values) and all(_makes(cls, each) for each in values)


def _assigned(cls: ClassInfo, name: str) -> Iterator[cst.BaseExpression]:
    """What code of the class assigns to `cls.name`, and all code of its file to `Class.name`."""
    for root, owner in ((cls.node, _CLASS), (cls.module.tree, cls.name)):
        for target, value in assignments(root):
            match target:
                case cst.Attribute(value=cst.Name(value=given), attr=cst.Name(value=attribute)) if given == owner:
                    if attribute == name:
                        yield value


def _makes(cls: ClassInfo, value: cst.BaseExpression) -> bool:
    """Whether an expression makes an object of a class: `cls()`, `Comm()`, `super().__new__(cls)`."""
    match value:
        case cst.Call(func=cst.Name(value=name)):
            return name in (_CLASS, cls.name)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=name))) if name == _NEW:
            return is_super(owner) or (isinstance(owner, cst.Name) and owner.value == "object")
    return False

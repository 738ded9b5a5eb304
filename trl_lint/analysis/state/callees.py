"""Which function of the project, or of a library, a callee names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance, class_of
from trl_lint.analysis.program.syntax import self_attribute
from trl_lint.domain.kinds import BoundMethod, PartialCall, library_name_of

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def function_of(frame: Frame, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function that `name` is, or the method that `name.attribute` is; None if its source is not available."""
    name = callee.value if isinstance(callee, cst.Attribute) else callee
    known = frame.engine.lookup(frame, name.value) if isinstance(name, cst.Name) else None
    value = None if known is None else frame.engine.settle(known)
    if isinstance(callee, cst.Attribute):
        return value.cls.find(callee.attr.value) if isinstance(value, ProjectInstance) else None
    return value.function if isinstance(value, FunctionValue) else None


def function_in(value: Value) -> FunctionInfo | None:
    """The function of the project that a value is, or whose method it is, also with arguments bound."""
    if isinstance(value, PartialCall):
        return function_in(value.callee)
    if isinstance(value, FunctionValue):
        return value.function
    if not isinstance(value, BoundMethod):
        return None
    cls = class_of(value.receiver)
    return None if cls is None else cls.find(value.name)


def called_in(frame: Frame, function: FunctionInfo, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function of its file, or the method of its object, that a function calls."""
    name = self_attribute(callee)
    if name:
        return function.cls.find(name) if function.cls is not None else None
    if function.module is frame.module:
        return function_of(frame, callee)
    known = function.module.names.get(callee.value) if isinstance(callee, cst.Name) else None
    value = None if known is None else frame.engine.settle(known)
    return value.function if isinstance(value, FunctionValue) else None


def code_called(frame: Frame, callee: cst.BaseExpression) -> cst.CSTNode | None:
    """The code of that function or method."""
    function = function_of(frame, callee)
    return None if function is None else function.node


def library_function_of(frame: Frame, callee: cst.BaseExpression | None) -> str:
    """The dotted name of a library's function or class, or of its module; "" if it is something else."""
    match callee:
        case cst.Name(name):
            known = frame.engine.lookup(frame, name)
            return "" if known is None else library_name_of(frame.engine.settle(known))
        case cst.Attribute(value=value, attr=cst.Name(name)):
            owner = library_function_of(frame, value)
            return f"{owner}.{name}" if owner else ""
    return ""

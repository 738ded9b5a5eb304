"""Places in a method that are never reached for the objects of a class below, which switches them off by a constant.

For example:

    class Task:
        distributed = True
        def setup(self, parallel):
            if self.distributed: self.net = DDP(self.net)       never reached for a `Local`
            if parallel: self.net = DDP(self.net)               nor is this

    class Local(Task):
        distributed = False
        def setup(self): super().setup(False)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import conditions_at
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import assignments, is_super, of_class, self_attribute
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

_CONSTANTS = {"False": False, "None": False, "True": True}


def is_switched_off(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a place in a method of a base is never reached for objects of a class, by a constant that this gives."""
    if method.cls is None or method.cls is cls.origin:
        return False
    work = partial(_is_off, cls.origin, method, node)
    return cls.module.notes.cached((is_switched_off, cls.origin, method, node), work)


def _is_off(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> bool:
    return any(_is_never(cls, method, each.test, each.holds) for each in conditions_at(method.node, node))


def _is_never(cls: ClassInfo, method: FunctionInfo, subject: cst.BaseExpression, holds: bool) -> bool:
    """Whether a name or an attribute never has this truth for objects of the class."""
    if isinstance(subject, cst.Name):
        given = list(_given(cls, method, subject.value))
    else:
        name = self_attribute(subject)
        lineage = cls.project_lineage()
        is_assigned = any(name in each.assigned() for each in lineage)
        first = next((each.variables[name] for each in lineage if name in each.variables), None)
        given = [] if first is None or is_assigned else [_truth(first)]
    return bool(given) and all(each is not None and each is not holds for each in given)


def _truth(value: Value) -> bool | None:
    if value.kind is Kind.NONE:
        return False
    return value.const if isinstance(value.const, bool) else None


def _given(cls: ClassInfo, method: FunctionInfo, name: str) -> Iterator[bool | None]:
    """The truths of what overriding methods of the classes below pass for a parameter; None if it is not known."""
    is_parameter = any(each.name == name and not each.star for each in method.parameters)
    lineage = cls.project_lineage()
    heirs = lineage[: lineage.index(method.cls)] if method.cls in lineage else ()
    if not is_parameter or not any(method.name in each.methods for each in heirs):
        return
    if any(isinstance(target, cst.Name) and target.value == name for target, _ in assignments(method.node)):
        return
    for call in (each for heir in heirs for each in of_class(heir.node, cst.Call)):
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value == method.name and is_super(func.value):
            yield _constant(argument_for(method, call, name))


def _constant(value: cst.BaseExpression | None) -> bool | None:
    """The truth of a constant; None for anything else."""
    return _CONSTANTS.get(value.value) if isinstance(value, cst.Name) else None

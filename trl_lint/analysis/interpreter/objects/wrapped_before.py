"""Models that another method of the class wraps before it calls the method that reads them.

class Trainer:
    def __init__(self, model):
        self.model = model                                  bare
    def fit(self, rows):
        self.model = self.accelerator.prepare(self.model)   wrapped from here on
        self.evaluate(rows)
    def evaluate(self, rows):
        self.model.generate(rows)                           MAYBE: wrapped if `fit` has called it

What methods leave in an attribute is joined, in no order: if one has wrapped a model and another has not, the join is
unknown. But a call of the reader after the assignment shows one path on which the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.equality import same_facts
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping


def wrapped_value(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` on the path on which another method has wrapped it; `value` if none has."""
    reader = frame.function
    if reader is None or reader.cls is None or reader.name == "__init__" or not _is_uninformative(value):
        return value
    if not same_facts(value, frame.from_other_scope(cls.attribute(name, built=True) or value)):
        return value  # this method has assigned or tested it itself
    for method, assigned in _assigned_in(cls, name):
        assigned_values = cls.values_assigned_in(name, method)
        if method is reader or not assigned_values or not all(map(_is_wrapped, assigned_values)):
            continue
        if any(each.node is reader.node for each in _methods_after(cls.origin, method, assigned)):
            return (
                assigned_values[0]
                if assigned_values[0].kind is not Kind.MODEL
                else frame.from_other_scope(assigned_values[0].replace(wrapping=Wrapping.MAYBE))
            )
    return value


def _is_uninformative(value: Value) -> bool:
    return value.kind is Kind.UNKNOWN or (value.kind is Kind.MODEL and value.wrapping is Wrapping.UNKNOWN)


def _is_wrapped(value: Value) -> bool:
    return isinstance(value, PreparedObject) or (value.kind is Kind.MODEL and value.wrapping in WRAPPED_ON_SOME_WAY)


def _assigned_in(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Assign]]:
    """The methods of a class, except `__init__`, that assign `self.name` once, with that assignment."""
    for base in cls.project_lineage():
        for method in base.methods.values():
            assigned = _assignments(method).get(name, ())
            if method.name != "__init__" and len(assigned) == 1:
                yield method, assigned[0]


def _assignments(method: FunctionInfo) -> dict[str, tuple[cst.Assign, ...]]:
    """The assignments to attributes of `self` in a method, by attribute name."""
    return method.module.notes.cached((_assignments, method), partial(_by_attribute, method.node))


def _by_attribute(code: cst.CSTNode) -> dict[str, tuple[cst.Assign, ...]]:
    found: dict[str, tuple[cst.Assign, ...]] = {}
    for assign in of_class(code, cst.Assign):
        for name in {self_attribute(each) for target in assign.targets for each in _parts(target.target)} - {""}:
            found[name] = (*found.get(name, ()), assign)
    return found


def _parts(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in target.elements] if isinstance(target, (cst.List, cst.Tuple)) else [target]


def _methods_after(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> tuple[FunctionInfo, ...]:
    notes = method.module.notes
    return notes.cached((_methods_after, cls, method, node), partial(_find_methods_after, cls, method, node))


def _find_methods_after(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> tuple[FunctionInfo, ...]:
    return tuple(call_order.methods_run_after(cls, method, node))

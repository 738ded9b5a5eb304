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
from trl_lint.analysis.program.syntax import of_class, own_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.equality import alike
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping


def held(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` on the path on which another method has wrapped it; `value` if none has."""
    reader = frame.function
    if reader is None or reader.cls is None or reader.name == "__init__" or not _says_nothing(value):
        return value
    if not alike(value, frame.told_of(cls.attribute(name, built=True) or value)):
        return value  # this method has assigned or tested it itself
    for method, assigned in _assigned_in(cls, name):
        left = cls.left_in(name, method)
        if method is reader or not left or not all(map(_is_wrapped, left)):
            continue
        if any(each.node is reader.node for each in _behind(cls.origin, method, assigned)):
            return (
                left[0] if left[0].kind is not Kind.MODEL else frame.told_of(left[0].replace(wrapping=Wrapping.MAYBE))
            )
    return value


def _says_nothing(value: Value) -> bool:
    return value.kind is Kind.UNKNOWN or (value.kind is Kind.MODEL and value.wrapping is Wrapping.UNKNOWN)


def _is_wrapped(value: Value) -> bool:
    return isinstance(value, PreparedObject) or (value.kind is Kind.MODEL and value.wrapping in WRAPPED_ON_SOME_WAY)


def _assigned_in(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Assign]]:
    """The methods of a class, except `__init__`, that assign `self.name` once, with that assignment."""
    for base in cls.in_sight():
        for method in base.methods.values():
            assigned = _assignments(method).get(name, ())
            if method.name != "__init__" and len(assigned) == 1:
                yield method, assigned[0]


def _assignments(method: FunctionInfo) -> dict[str, tuple[cst.Assign, ...]]:
    """The assignments to attributes of `self` in a method, by attribute name."""
    return method.module.notes.worked_out((_assignments, method), partial(_by_attribute, method.node))


def _by_attribute(code: cst.CSTNode) -> dict[str, tuple[cst.Assign, ...]]:
    found: dict[str, tuple[cst.Assign, ...]] = {}
    for assign in of_class(code, cst.Assign):
        for name in {own_attribute(each) for target in assign.targets for each in _parts(target.target)} - {""}:
            found[name] = (*found.get(name, ()), assign)
    return found


def _parts(given: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in given.elements] if isinstance(given, (cst.List, cst.Tuple)) else [given]


def _behind(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> tuple[FunctionInfo, ...]:
    notes = method.module.notes
    return notes.worked_out((_behind, cls, method, node), partial(_run_behind, cls, method, node))


def _run_behind(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> tuple[FunctionInfo, ...]:
    return tuple(call_order.run_behind(cls, method, node))

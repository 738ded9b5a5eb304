"""Data sets of the project that a call tells the number of the rank and that of all ranks, by which they give rows.

Stream(rows, rank, size)             its `__init__` keeps both in attributes, and `__iter__` picks rows by them
rows.setup(rank, size)               another method does so
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.own_rows import shares_in
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import assigned_parts, is_literal_none, self_attribute
from trl_lint.analysis.transfer.data.dealt_rows import OWN_ROWS, Dealing, is_data_set
from trl_lint.analysis.transfer.data.places_of_shares import is_rank
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import UNKNOWN
from trl_lint.knowledge.sharding import STREAMS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def given_share(frame: Frame, function: FunctionInfo, call: cst.Call) -> Dealing | None:
    """The place where an object picks the rows of the rank whose number a call tells it; None for other calls."""
    cls = _class_of_receiver(frame, function, call)
    if cls is None or not is_data_set(cls):
        return None
    for each in cls.project_lineage():
        for node, rank, size in shares_in(each.node):
            given = _given(frame, cls, function, call, size)
            if given.const is WORLD_SIZE and is_rank(_given(frame, cls, function, call, rank)):
                return Dealing(Step(each.module, node, OWN_ROWS), is_list=STREAMS.isdisjoint(cls.library_bases()))
    return None


def _class_of_receiver(frame: Frame, function: FunctionInfo, call: cst.Call) -> ClassInfo | None:
    """The class that a call makes an object of, or whose method it is."""
    if function.name == "__init__":
        return class_of(frame.engine.settle(frame.engine.evaluate(frame, call.func)))
    return class_of(frame.known_value(call.func.value)) if isinstance(call.func, cst.Attribute) else None


def _given(frame: Frame, cls: ClassInfo, function: FunctionInfo, call: cst.Call, attribute: str) -> Value:
    """What a call passes for the parameter that a method keeps in an attribute, which nothing else changes."""
    kept = ""
    for each in cls.project_lineage():
        for target, value in assigned_parts(each.node):
            if self_attribute(target) == attribute and not (isinstance(value, cst.Integer) or is_literal_none(value)):
                if kept or not isinstance(value, cst.Name):
                    return UNKNOWN
                kept = value.value
    is_here = any(self_attribute(target) == attribute for target, _ in assigned_parts(function.node))
    passed = argument_for(function, call, kept) if kept and is_here else None
    return UNKNOWN if passed is None else frame.value_of(passed)

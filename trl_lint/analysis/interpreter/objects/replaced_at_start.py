"""Attributes that a constructor replaces after the methods that it calls have assigned them.

    class Trainer:
        def __init__(self):
            self.build()
            self.loader = self.accelerator.prepare(self.loader)    what every method called later reads
        def build(self):
            self.loader = DataLoader(self.rows)                    gone by then
        def train(self):
            for batch in self.loader: …                            of the prepared loader

What methods leave in an attribute is joined, in no order. Without this, the loader would be neither the one nor the
other.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions import call_order
from trl_lint.analysis.program.project.assigned_attributes import always_assigned, assigned_in_line
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.equality import same_facts
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value


def value_left(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name` without what is always replaced before a constructor ends; else `value`."""
    init = cls.origin.find("__init__")
    if init is None or frame.function is init or init.cls is None or name not in init.cls.certain_attributes():
        return value
    if not any(base.is_assigned_by_others(name, init) for base in cls.project_lineage()):
        return value
    replaced = _replaced(cls.origin, init, name)
    if not replaced or any(each is frame.function for each in replaced):
        return value
    if not same_facts(value, frame.from_other_scope(cls.attribute(name, built=True) or value)):
        return value  # this method has assigned it itself
    left = cls.values_assigned_except(name, {id(each.node) for each in replaced})
    return value if left.rank.state is State.BOTTOM else frame.from_other_scope(left)


def _replaced(cls: ClassInfo, init: FunctionInfo, name: str) -> tuple[FunctionInfo, ...]:
    """The methods that are only called before the constructor's last assignment of `self.name`."""
    return init.module.notes.cached((_replaced, cls, name), partial(_find_replaced, cls, init, name))


def _find_replaced(cls: ClassInfo, init: FunctionInfo, name: str) -> tuple[FunctionInfo, ...]:
    body = init.node.body
    if not isinstance(body, cst.IndentedBlock) or name not in always_assigned(body):
        return ()
    lines = [each for each in body.body if isinstance(each, cst.SimpleStatementLine) and name in assigned_in_line(each)]
    methods = (each for base in cls.project_lineage() if name in base.assigned() for each in base.methods.values())
    return tuple(each for each in methods if call_order.is_only_called_before(cls, each, init, lines[-1]))

"""Buffers that only count: their number is a constant at first, and changes as that of an attribute would.

self.register_buffer("steps", torch.tensor(0))
self.steps += 1                                the only change
self.steps.fill_(state["steps"])               beside this one, where `state = torch.load(path)`

Everything else that may change a buffer in place is a reason not to know it: `self.mean.lerp_(rows.mean(), 0.1)`.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import ancestors, assigned_once, last_name, of_class
from trl_lint.knowledge.python import READ_FILES

_NUMBERS = (cst.Integer, cst.Float)
# Where a number is only read: part of a computation or a test, shown, or kept under another name as a new number.
_READ_IN = (
    *(cst.BinaryOperation, cst.BooleanOperation, cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation),
    *(cst.FormattedStringExpression, cst.If, cst.IfExp, cst.While),
)
_READS = frozenset({"device", "item"})
_CONVERSIONS = frozenset({"bool", "float", "int", "print", "str"})
_FILLS = frozenset({"copy_", "fill_"})
_READERS = frozenset(each.rpartition(".")[2] for each in READ_FILES)


@noted_in_file
def only_counts(cls: ClassInfo, name: str) -> bool:
    """Whether the code of a class and of its bases does no more with a buffer than count with it."""
    methods = [(method.node, each) for method in cls.project_methods() for each in of_class(method.node, cst.Attribute)]
    return all(_counts(method, use) for method, use in methods if use.attr.value == name)


def _counts(method: cst.CSTNode, use: cst.Attribute) -> bool:
    *_, outer, around = ancestors(method, use)
    match around:
        case cst.AugAssign(value=by):
            return isinstance(by, _NUMBERS)
        case cst.AssignTarget():
            return True  # the value is that of the attribute from then on
        case cst.Attribute(attr=cst.Name(value=name)):
            return name in _READS or (isinstance(outer, cst.Call) and name in _FILLS and _is_restored(method, outer))
        case cst.Arg():
            return isinstance(outer, cst.Call) and last_name(outer.func) in _CONVERSIONS
    return isinstance(around, _READ_IN)


def _is_restored(method: cst.CSTNode, call: cst.Call) -> bool:
    """`state["steps"]` of what the method reads from a file, or a constant number."""
    match [each.value for each in call.args]:
        case [cst.Subscript(value=cst.Name(value=name))]:
            read = assigned_once(method, name)
            return isinstance(read, cst.Call) and last_name(read.func) in _READERS
        case [cst.BaseNumber()]:
            return True
    return False

"""The attributes that the construction of an object assigns, in order: the constructor, its bases' and its own methods.

For example:

    def __init__(self):
        super().__init__()              what the constructor of the base assigns comes first
        self.build()                    then what `build` assigns
        if self.compiled:
            self.net = compile(self.net)           may replace it
        self.prepare()
    def prepare(self):
        self.net = prepare(self.net)    what `build` and the `if` have left is gone
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.assigned_attributes import assigned_in_statement
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import of_class, self_attribute

CONSTRUCTOR = "__init__"
# How deep calls between the methods of a class are followed.
_MAX_DEPTH = 4


class AttributeStep(NamedTuple):
    """An assignment of `self.name`. is_certain: whether each construction makes it."""

    method: FunctionInfo
    name: str
    is_certain: bool


@noted_in_file
def replaced(cls: ClassInfo, name: str) -> frozenset[FunctionInfo]:
    """The methods whose value of `self.name` is always gone once an object is constructed."""
    steps = [each for each in _steps_of(cls) if each.name == name]
    last = next((each for each in reversed(steps) if each.is_certain), None)
    if last is None or steps[-1] is not last:
        return frozenset()
    return run_in_construction(cls) & {each.method for each in steps if each.method is not last.method}


@noted_in_file
def _steps_of(cls: ClassInfo) -> tuple[AttributeStep, ...]:
    init = cls.find(CONSTRUCTOR)
    return () if init is None else tuple(_assigned_by(cls, init, True, _MAX_DEPTH))


def _assigned_by(cls: ClassInfo, method: FunctionInfo, is_certain: bool, depth: int) -> Iterator[AttributeStep]:
    """The assignments of a method and of the methods that it calls, in order."""
    if isinstance(method.node, cst.FunctionDef):
        yield from _assigned_in(cls, method, method.node.body, is_certain, depth)


def _assigned_in(
    cls: ClassInfo, method: FunctionInfo, block: cst.BaseSuite, is_certain: bool, depth: int
) -> Iterator[AttributeStep]:
    for statement in block.body:
        if isinstance(statement, cst.With):
            yield from _assigned_in(cls, method, statement.body, is_certain, depth)
        else:
            is_always = is_certain and isinstance(statement, cst.SimpleStatementLine)
            for called in _called_in(cls, method, statement) if depth else ():
                yield from _assigned_by(cls, called, is_always, depth - 1)
            for name in sorted(assigned_in_statement(statement)):
                yield AttributeStep(method, name, is_always)
        is_certain = is_certain and not of_class(statement, cst.Return)


def _called_in(cls: ClassInfo, method: FunctionInfo, statement: cst.CSTNode) -> Iterator[FunctionInfo]:
    """The methods of the object that a statement calls."""
    for call in of_class(statement, cst.Call):
        match call.func:
            case cst.Attribute(value=cst.Call(func=cst.Name("super")), attr=cst.Name(name)):
                called = cls.find_above(name, method.cls)
            case _:
                called = cls.find(self_attribute(call.func))
        if called is not None and called is not method:
            yield called


@noted_in_file
def run_in_construction(cls: ClassInfo) -> frozenset[FunctionInfo]:
    """The methods that a class only calls while an object is constructed."""
    methods = cls.project_methods()
    callers: dict[FunctionInfo, set[FunctionInfo]] = {}
    for caller in methods:
        for called in _called_in(cls, caller, caller.node):
            callers.setdefault(called, set()).add(caller)
    found = {each for each in methods if each.name == CONSTRUCTOR}
    candidates = [each for each in methods if each in callers and not _is_called_on_others(each)]
    while more := {each for each in candidates if callers[each] <= found} - found:
        found |= more
    return frozenset(found)


def _is_called_on_others(method: FunctionInfo) -> bool:
    """Whether the file calls a method of this name on something other than `self`."""
    name = method.name.encode()
    # The name comes first: a search for a text is fast, one for what may be before it is not.
    return method.module.mentions(rb"\.%b\b(?<!\bself\.%b)(?<!\bsuper\(\)\.%b)" % (name, name, name), method.name)

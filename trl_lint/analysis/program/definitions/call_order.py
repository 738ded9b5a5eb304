"""In which order a class runs its own methods, as far as one of them says it.

def fit(self):
    self.load()        # `load` runs before anything that `prepare` does, if nobody else calls it
    self.prepare()
    self.train()
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import below, of_class


def is_done_before(method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a method is called once by its class, before the other method in which a node is."""
    if method.cls is None:
        return False
    other = _around(method.cls, node)
    if other is None or other is method:
        return False
    calls = [(each, called) for each in _methods(method.cls) for called in _called(each)]
    callers = [each for each, called in calls if called == method.name]
    if len(callers) != 1:
        return False
    order = [called for each, called in calls if each is callers[0]]
    return other.name in order and order.index(method.name) < order.index(other.name)


def _methods(cls: ClassInfo) -> Iterator[FunctionInfo]:
    for each in cls.in_sight():
        yield from each.methods.values()


def _around(cls: ClassInfo, node: cst.CSTNode) -> FunctionInfo | None:
    """The method of a class in which a node is."""
    return next((each for each in _methods(cls) if any(part is node for part in below(each.node))), None)


def _called(method: FunctionInfo) -> list[str]:
    """The methods of its own object that a method calls, in the order of the text: those in a loop twice."""
    loops = [*of_class(method.node, cst.For), *of_class(method.node, cst.While)]
    repeated = {id(part) for loop in loops for part in below(loop)}
    return [
        call.func.attr.value
        for call in of_class(method.node, cst.Call)
        for _ in range(2 if id(call) in repeated else 1)
        if isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value == "self"
    ]

"""The order in which a class calls its own methods, as far as one of them shows it.

For example:

    def fit(self):
        self.load()        # `load` runs before anything that `prepare` does, if no other method calls `load`
        self.prepare()
        self.train()       # `train` runs after `load`, and after all that `prepare` does
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import ancestors, below, ends_outside, of_class, self_attribute


def is_done_before(method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a class calls a method exactly once, before the other method that contains `node`."""
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


def calls_come_before(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether another method, the one with this node, calls a method only before it, directly or through others.

    def __init__(self):
        self.load()                     `load`, and what it calls
        self.model = DDP(self.model)    the node
    """
    within = _around(cls, node)
    if within is None:
        return False
    order = {id(each): index for index, each in enumerate(below(within.node))}
    calls, _ = _calls_in(cls, within, method)
    return bool(calls) and all(order[id(call)] < order[id(node)] for call in calls)


def _calls_in(cls: ClassInfo, within: FunctionInfo, method: FunctionInfo) -> tuple[list[cst.Call], list[FunctionInfo]]:
    """The calls by which one method leads to another, and the methods through which they do, with the other itself."""
    calls: list[cst.Call] = []
    through = [method]
    for each in through:
        for caller, call in _calls_to(cls, each.name):
            if caller.name in (known.name for known in through):
                continue  # with `super()`, or it calls itself
            if caller is within:
                calls.append(call)
            else:
                through.append(caller)
    return calls, through


def _calls_to(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Call]]:
    for each in _methods(cls):
        for call in of_class(each.node, cst.Call):
            if self_attribute(call.func) == name:
                yield each, call


def methods_run_by(cls: ClassInfo, name: str) -> list[FunctionInfo]:
    """A method, and those that it calls, directly or through others."""
    first = cls.find(name)
    found = [] if first is None else [first]
    for method in found:
        called = (cls.find(self_attribute(call.func)) for call in of_class(method.node, cst.Call))
        found += dict.fromkeys(each for each in called if each is not None and each not in found)
    return found


def methods_run_after(
    cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode, until: cst.CSTNode | None = None
) -> Iterator[FunctionInfo]:
    """The methods that a class may call after a node of one of its methods, on some path.

    until: only those that it calls before this later node of the same method.
    """
    todo: list[tuple[FunctionInfo, cst.CSTNode | None]] = [(method, node)]
    if until is None:
        todo += [
            (each, call) for each in _methods(cls) for call in of_class(each.node, cst.Call) if _calls(call, method)
        ]
    found: dict[str, FunctionInfo] = {}
    for within, place in todo:
        for call in of_class(within.node, cst.Call):
            called = cls.find(self_attribute(call.func))
            if (
                called is None
                or called.name in found
                or not (place is None or _may_run_after(within.node, place, call))
                or (until is not None and within is method and place is node and _comes_first(method.node, until, call))
            ):
                continue
            found[called.name] = called
            todo.append((called, None))
    yield from found.values()


def _comes_first(root: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether one node comes before another in the text."""
    return next(each for each in below(root) if each is one or each is other) is one


def _calls(call: cst.Call, method: FunctionInfo) -> bool:
    return self_attribute(call.func) == method.name


def _may_run_after(root: cst.CSTNode, place: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a call of a function may run after a place in it, by their order in the text."""
    order = {id(each): index for index, each in enumerate(below(root))}
    around = ancestors(root, place)
    if any(part is place for part in ancestors(root, call)) or order[id(call)] < order[id(place)]:
        return False
    shared = {id(each) for each in ancestors(root, call)}
    unshared = [each for each in around if id(each) not in shared]
    if any(isinstance(each, (cst.IndentedBlock, cst.SimpleStatementSuite)) and ends_outside(each) for each in unshared):
        return False
    # The other branch of the same `if` does not run after the place.
    inner = [each for each in around if id(each) in shared]
    return not (inner and isinstance(inner[-1], cst.If) and unshared and unshared[0] is inner[-1].body)


def _methods(cls: ClassInfo) -> Iterator[FunctionInfo]:
    for each in cls.project_lineage():
        yield from each.methods.values()


def _around(cls: ClassInfo, node: cst.CSTNode) -> FunctionInfo | None:
    """The method of a class that contains a node."""
    return next((each for each in _methods(cls) if any(part is node for part in below(each.node))), None)


def _called(method: FunctionInfo) -> list[str]:
    """The methods of `self` that a method calls, in the order of the text: those in a loop twice."""
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

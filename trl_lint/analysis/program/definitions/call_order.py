"""The order in which a class calls its own methods, as far as one of them shows it.

For example:

    def fit(self):
        self.load()        # `load` runs before anything that `prepare` does, if no other method calls `load`
        self.prepare()
        self.train()       # `train` runs after `load`, and after all that `prepare` does
        self.loop()        # so do both of `self.loop = self.by_step if self.steps else self.by_epoch`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import chain

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside, exits_before
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import (
    ancestors,
    attribute_values,
    below,
    definitions_around,
    identifiers,
    last_name,
    of_class,
    self_attribute,
)

# Names in a test that say nothing about what it tests.
_NOT_TESTED = frozenset({"args", "bool", "cfg", "config", "hasattr", "int", "isinstance", "len", "self", "None"})


def is_done_before(method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a class calls a method exactly once, before the other method that contains `node`."""
    if method.cls is None:
        return False
    other = _around(method.cls, node)
    if other is None or other is method:
        return False
    calls = [(each, called) for each in method.cls.project_methods() for called in _called(each)]
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
    calls = _calls_in(cls, within, method)
    return bool(calls) and all(order[id(call)] < order[id(node)] for call in calls)


def comes_after_construction(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> bool:
    """Whether a method is a constructor, and another one, with this node, is called by no constructor of the class.

    def __init__(self):
        self.model = None
        self.pad = self.model.config.pad    the node has not run
    def fit(self):
        self.model = DDP(self.model)        the node
    """
    within = _around(cls, node)
    if within is None or method.name != "__init__":
        return False
    lineage = cls.project_lineage()
    constructors = [each.methods[method.name] for each in lineage if method.name in each.methods]
    return within.name not in {each.name for first in constructors for each in _run_by(cls, first)}


def _calls_in(cls: ClassInfo, within: FunctionInfo, method: FunctionInfo) -> list[cst.Call]:
    """The calls by which one method leads to another, directly or through others."""
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
    return calls


def _calls_to(cls: ClassInfo, name: str) -> Iterator[tuple[FunctionInfo, cst.Call]]:
    for each in cls.project_methods():
        for call in of_class(each.node, cst.Call):
            if self_attribute(call.func) == name:
                yield each, call


def methods_run_by(cls: ClassInfo, name: str) -> list[FunctionInfo]:
    """A method, and those that it calls, directly or through others."""
    first = cls.find(name)
    return [] if first is None else _run_by(cls, first)


def _run_by(cls: ClassInfo, first: FunctionInfo) -> list[FunctionInfo]:
    found = [first]
    for method in found:
        called = (cls.find(self_attribute(call.func)) for call in of_class(method.node, cst.Call))
        found += dict.fromkeys(each for each in called if each is not None and each not in found)
    return found


def methods_run_after(
    cls: ClassInfo,
    method: FunctionInfo,
    node: cst.CSTNode,
    until: cst.CSTNode | None = None,
    programs: Iterable[cst.Module] = (),
) -> Iterator[FunctionInfo]:
    """The methods that run, or that a class may call, after a node of one of its methods, on some path.

    After a node of `__init__`, or of what it calls, these are also the methods that only others call, on the new
    object. A call does not count under a test of what the node depends on, as that may ask whether the node was run.
    until: only the methods that the class calls before this later node of the same method. programs: the code of files
    that create objects of the class.
    """
    starts = [(method, node)] if until is not None else list(_places_of(cls, method, node))
    names = frozenset[str]().union(*(_names_tested(within.node, place) for within, place in starts))
    todo: list[tuple[FunctionInfo, cst.CSTNode | None]] = list(starts)
    found = {} if until is not None else {each.name: each for each in _called_by_others(cls, starts, names, programs)}
    todo += [(each, None) for each in found.values()]
    for within, place in todo:
        for call in of_class(within.node, cst.Call):
            new = [each for each in _run_at(cls, call) if each.name not in found]
            if (
                not new
                or not (place is None or _may_run_after(within.node, place, call))
                or (until is not None and within is method and place is node and _comes_first(method.node, until, call))
                or not names.isdisjoint(_names_tested(within.node, call))
            ):
                continue
            found.update((each.name, each) for each in new)
            todo += [(each, None) for each in new]
    yield from found.values()


def _run_at(cls: ClassInfo, call: cst.Call) -> Sequence[FunctionInfo]:
    """The methods of a class that a call of an attribute of `self` runs: that one, or those that it keeps in there."""
    name = self_attribute(call.func)
    method = cls.find(name) if name else None
    if method is not None or not name:
        return () if method is None else (method,)
    return cls.module.notes.cached((_run_at, cls, name), partial(_kept_in, cls, name))


def _kept_in(cls: ClassInfo, name: str) -> tuple[FunctionInfo, ...]:
    values = (each for method in cls.project_methods() for kept, each in attribute_values(method.node) if kept == name)
    kept = (cls.find(self_attribute(each)) for value in values for each in _options(value))
    return tuple(dict.fromkeys(each for each in kept if each is not None and not each.is_property))


def _options(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.IfExp):
        yield from _options(value.body)
        yield from _options(value.orelse)
    else:
        yield value


def _names_tested(root: cst.CSTNode, node: cst.CSTNode) -> set[str]:
    """The names in the conditions around a node, and of the exits before it."""
    path = (*ancestors(root, node), node)
    tests = [each.test for each in path if isinstance(each, (cst.If, cst.IfExp, cst.While))]
    tests += [each.test for each in exits_before(root, node)]
    return set(chain.from_iterable(map(identifiers, tests))) - _NOT_TESTED


def _called_by_others(
    cls: ClassInfo,
    starts: Iterable[tuple[FunctionInfo, cst.CSTNode]],
    names: Set[str],
    programs: Iterable[cst.Module],
) -> Iterator[FunctionInfo]:
    """The methods that code outside the class may call after a place in it."""
    running = {within.name for within, _ in starts}
    if "__init__" in running:
        mentioned = {
            self_attribute(each) for method in cls.project_methods() for each in of_class(method.node, cst.Attribute)
        }
        yield from (each for each in cls.project_methods() if each.name not in mentioned | running)
    for tree in programs:
        yield from _called_on_objects(cls, tree, running, names)


def _called_on_objects(cls: ClassInfo, tree: cst.Module, before: Set[str], names: Set[str]) -> Iterator[FunctionInfo]:
    """The methods that a file calls on an object of the class after these: `job.wrap()`, then `job.train()`."""
    for assign in of_class(tree, cst.Assign):
        match assign:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=cst.Call(func=cst.Name(made))):
                if made == cls.node.name.value:
                    root = next(reversed(definitions_around(tree, assign)), tree)
                    calls = [each for each in of_class(root, cst.Call) if _is_on(each, name)]
                    first = next((each for each in calls if last_name(each.func) in before), None)
                    later = (each for each in calls if first is not None and _may_run_after(root, first, each))
                    plain = (each for each in later if names.isdisjoint(_names_tested(root, each)))
                    yield from filter(None, (cls.find(last_name(each.func)) for each in plain))


def _is_on(call: cst.Call, name: str) -> bool:
    match call.func:
        case cst.Attribute(value=cst.Name(receiver)):
            return receiver == name
    return False


def is_after_call(
    cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode, within: cst.CSTNode, read: cst.CSTNode
) -> bool:
    """Whether a read in one method may run after its call of another one, direct or through others, that has a node."""
    return any(
        caller.node is within and caller is not method and _may_run_after(within, place, read)
        for caller, place in _places_of(cls, method, node)
    )


def _places_of(cls: ClassInfo, method: FunctionInfo, node: cst.CSTNode) -> Iterator[tuple[FunctionInfo, cst.CSTNode]]:
    """A node of a method, and the calls through which the class runs it, each with its method."""
    todo, seen = [(method, node)], {method.name}
    for within, place in todo:
        yield within, place
        calls = [] if within.name == "__init__" else list(_calls_to(cls, within.name))
        todo += [(caller, call) for caller, call in calls if caller.name not in seen]
        seen |= {caller.name for caller, _ in calls}


def _comes_first(root: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether one node comes before another in the text."""
    return next(each for each in below(root) if each is one or each is other) is one


def _may_run_after(root: cst.CSTNode, place: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether another node of a function may run after a place in it, by their order in the text."""
    order = {id(each): index for index, each in enumerate(below(root))}
    around = ancestors(root, place)
    if any(part is place for part in ancestors(root, other)) or order.get(id(other), 0) < order[id(place)]:
        return False
    shared = {id(each) for each in ancestors(root, other)}
    unshared = [each for each in around if id(each) not in shared]
    if any(isinstance(each, (cst.IndentedBlock, cst.SimpleStatementSuite)) and ends_outside(each) for each in unshared):
        return False
    # The other branch of the same `if` does not run after the place.
    inner = [each for each in around if id(each) in shared]
    return not (inner and isinstance(inner[-1], cst.If) and unshared and unshared[0] is inner[-1].body)


def _around(cls: ClassInfo, node: cst.CSTNode) -> FunctionInfo | None:
    """The method of a class that contains a node."""
    return next((each for each in cls.project_methods() if any(part is node for part in below(each.node))), None)


def _called(method: FunctionInfo) -> list[str]:
    """The methods of `self` that a method calls, in the order of the text: those in a loop twice."""
    loops = [*of_class(method.node, cst.For), *of_class(method.node, cst.While)]
    repeated = {id(part) for loop in loops for part in below(loop)}
    return [
        name
        for call in of_class(method.node, cst.Call)
        if (name := self_attribute(call.func))
        for _ in range(2 if id(call) in repeated else 1)
    ]

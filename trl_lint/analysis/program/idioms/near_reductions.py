"""Reductions in the text of a function that may be of what it logs, whether or not the analysis follows them.

    for key in logs:
        exchange_all_reduce(logs[key])          of `logs["loss"]`, in place, if the loop is over all keys
    if settings.several:
        loss = reduce_tensor(loss)              of `loss`, on one way
    total = sum_over_gpus(correct)
    log(total / count)                          of `total`, which the logged value is computed from
    average(meters)                             of `meters["loss"]`, if `average` puts reduced values into `meters`
    logs["reward"] = accelerator.gather(x)      not of `logs["loss"]`
    log(loss)
    loss = reduce_tensor(loss)                  after the log: no
    every_loss = accelerator.gather(loss)
    log(loss)                                   of another name: no
    logs["loss"] = loss
    self.logs = self.averaged(logs)             of `logs["loss"]`, if nothing else reads `logs`

Whoever writes this knows of the ranks, so that a value that seems unreduced behind it is more likely one whose
reduction is not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import (
    ancestors,
    below,
    children,
    keyword_value,
    last_name,
    of_class,
    parts_of_target,
    precedes,
    self_attribute,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.heuristics import EXCHANGES
from trl_lint.knowledge.torch_distributed import ASYNCHRONOUS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module

# A variable, and the keys and attributes by which a part of it is reached; `_ANY` for an index.
_Place: TypeAlias = tuple[str, ...]
_ANY = "*"
_OF_SELF = "self."
# Not in torch_ops: methods that add their argument to a container.
_ADDS = frozenset({"append", "extend", "update"})
_EMPTIES = "clear"
# Attributes that are another view of the same numbers.
_VIEWS = frozenset({"data", "T"})
# How many calls are followed from one function into the next.
_MOST_CALLEES = 2
# `x.gather(dim, index)` picks elements of a tensor.
_PICKS = "gather"


class Caller(NamedTuple):
    """A function, or the body of a file."""

    module: Module
    function: FunctionInfo | None

    @property
    def root(self) -> cst.CSTNode:
        return self.module.tree if self.function is None else self.function.node


# Returns what a callee in a function is, if its source is available.
Called: TypeAlias = Callable[[Caller, cst.BaseExpression], Caller | None]


class _Made(NamedTuple):
    """A place, the code that it is made of, the statement by which, and whether that is added to it."""

    place: _Place
    parts: tuple[cst.CSTNode, ...]
    node: cst.CSTNode
    adds: bool = False


def may_be_reduced(caller: Caller, logged: cst.CSTNode, called: Called) -> bool:
    """Whether a function, or file, may have reduced what an expression or statement in it logs, in sight of it.

    It may also be reduced in the function of the project that returns it.
    """
    places = _made_of(caller.root, set(_places(_value(logged))))
    if any(_are_one(each.place, places) and precedes(caller.root, each.node, logged) for each in _reduced(caller.root)):
        return True
    if any(_are_one(each, places) for each in _given_for_reduction(caller, logged, called)):
        return True
    search = _Search(called)
    inside = of_class(_value(logged), cst.Call)
    return any(search.reduces(caller, each, None, set(), _MOST_CALLEES) for each in inside) or search.returns_reduced(
        caller, places, _MOST_CALLEES
    )


def _given_for_reduction(caller: Caller, logged: cst.CSTNode, called: Called) -> Iterator[_Place]:
    """What calls without a result, before a place, pass to functions that put reduced values into their parameter."""
    for each in of_class(caller.root, cst.Expr):
        if isinstance(each.value, cst.Call) and precedes(caller.root, each, logged):
            callee = called(caller, each.value.func) if each.value.args else None
            if callee is not None and isinstance(callee.root, cst.FunctionDef) and callee.root is not caller.root:
                filled = _filled_with_reduced(callee.root)
                given = (one.value for one in each.value.args if _parameter(callee.root, each.value, one) in filled)
                yield from (place for one in given if (place := _place(one)))


@tree_cache(64)
def _filled_with_reduced(root: cst.CSTNode) -> frozenset[str]:
    """The variables of which a function fills parts with what it exchanges between ranks: `meters[key].value = t`."""
    exchanged = {each.place for each in _reduced(root)}
    filled = (each for each in _made(root) if len(each.place) > 1)
    places = ((each.place[0], set(_places(part))) for each in filled for part in each.parts)
    return frozenset(name for name, read in places if any(_are_one(one, exchanged) for one in read))


def is_reduced_after(caller: Caller, stored: cst.CSTNode, called: Called) -> bool:
    """Whether a function only has others reduce a variable, in a part of which it has put a value.

    stored: the code of that value.
    """
    around = (*ancestors(caller.root, stored), stored)
    for made in _made(caller.root):
        if len(made.place) > 1 and _OF_SELF not in made.place[0] and any(each in around for each in made.parts):
            return _is_only_reduced(caller, made, called)
    return False


def is_kept_for(caller: Caller, stored: cst.CSTNode, reader: Caller) -> bool:
    """Whether a function puts a value into an attribute of its object that another one reads.

    stored: the code of that value.
    """
    around = (*ancestors(caller.root, stored), stored)
    kept = {each.place[0] for each in _made(caller.root) if any(part in around for part in each.parts)}
    read = (each for each in of_class(reader.root, cst.Attribute) if f"{_OF_SELF}{self_attribute(each)}" in kept)
    return any(not _is_emptied(_parents(reader.root, each)[0]) for each in read)


def _is_emptied(around: cst.CSTNode | None) -> bool:
    """Whether what is around an attribute empties it or sets it: `self.logs.clear()`, `self.logs = {}`."""
    return isinstance(around, cst.AssignTarget) or last_name(around) == _EMPTIES


def _is_only_reduced(caller: Caller, made: _Made, called: Called) -> bool:
    root, (name, *keys) = caller.root, made.place
    later = [each for each in of_class(root, cst.Name) if each.value == name and precedes(root, made.node, each)]
    reducing = [_reduction_of(caller, each, keys, called) for each in later if not _is_set(root, each)]
    # After the first of them, the variable may be what has been reduced.
    if reducing and any(each.value is reducing[0] and (name,) in _names(each) for each in of_class(root, cst.Assign)):
        return True
    return bool(reducing) and None not in reducing


def _names(assign: cst.Assign) -> Iterator[_Place]:
    return (place for each in assign.targets for place in _targets(each.target))


def _is_set(root: cst.CSTNode, variable: cst.Name) -> bool:
    """Whether a variable, or a part of it by a key, gets a value here."""
    inner, outer = _parents(root, variable)[:2]
    return isinstance(inner if isinstance(inner, cst.AssignTarget) else outer, cst.AssignTarget)


def _parents(root: cst.CSTNode, node: cst.CSTNode) -> tuple[cst.CSTNode | None, ...]:
    """The three nodes around a node, from the innermost outwards."""
    return (*reversed(ancestors(root, node)), None, None, None)[:3]


def _reduction_of(caller: Caller, argument: cst.Name, keys: Sequence[str], called: Called) -> cst.Call | None:
    """The call with this argument, if that returns something and exchanges what is in these parts of it."""
    arg, call, outer = _parents(caller.root, argument)
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or isinstance(outer, cst.Expr):
        return None
    callee = called(caller, call.func)
    if callee is None:
        return call if _exchanges(call) else None
    if not isinstance(callee.root, cst.FunctionDef):
        return None
    parameter = _parameter(callee.root, call, arg)
    return call if any(_are_one(each, {(parameter, *keys)}) for each in _origins(callee.root)) else None


def _parameter(function: cst.FunctionDef, call: cst.Call, arg: cst.Arg) -> str:
    """The parameter that gets an argument of a call; empty if it is not known."""
    names = [each.name.value for each in function.params.params if each.name.value != "self"]
    given = names[call.args.index(arg)] if call.args.index(arg) < len(names) else ""
    return given if arg.keyword is None else arg.keyword.value


def _origins(root: cst.CSTNode) -> set[_Place]:
    """What a function exchanges between ranks, and all that this is computed from."""
    found: set[_Place] = set()
    more = {each.place for each in _reduced(root)}
    while not more <= found:
        found |= more
        more = _made_of(root, found)
    return found


class _Search:
    """The search for reductions in the functions that return a value. called: which function an expression calls."""

    def __init__(self, called: Called) -> None:
        self._called = called

    def returns_reduced(self, caller: Caller, wanted: set[_Place], steps: int) -> bool:
        """Whether a function that computes one of these values reduces it. steps: how far calls are followed."""
        for each in of_class(caller.root, cst.Assign):
            targets, call = each.targets[0].target, each.value
            if not isinstance(call, cst.Call) or not any(_are_one(one, wanted) for one in _targets(targets)):
                continue
            if self.reduces(caller, call, targets, wanted, steps):
                return True
        return False

    def reduces(
        self, caller: Caller, call: cst.Call, targets: cst.BaseExpression | None, wanted: set[_Place], steps: int
    ) -> bool:
        """Whether the function that a call calls reduces what it returns. targets: what the result is assigned to."""
        callee = self._called(caller, call.func)
        if callee is None or callee.root is caller.root:
            return False
        places = _made_of(callee.root, _places_returned(callee.root, targets, wanted))
        if any(_are_one(one.place, places) for one in _reduced(callee.root)):
            return True
        return steps > 0 and self.returns_reduced(callee, places, steps - 1)


def _made_of(root: cst.CSTNode, places: set[_Place]) -> set[_Place]:
    """The places of a value, of what is added up in it, of what it is computed from, and of what is added up there."""
    found = set(places)
    for adds in (True, False, True):
        found |= {
            inner
            for each in _made(root)
            if each.adds is adds and _are_one(each.place, found)
            for part in each.parts
            for inner in _places(part)
        }
    return found


def _places_returned(callee: cst.CSTNode, names: cst.BaseExpression | None, wanted: set[_Place]) -> set[_Place]:
    """The places in a callee whose values its caller wants: `logs` of `return rows, logs`, if `logs` is wanted.

    names: what the caller assigns the result to; None: it wants all of it.
    """
    results = [each.value for each in of_class(callee, cst.Return) if each.value is not None]
    if names is None:
        return {place for result in results for place in _places(result)}
    found: set[_Place] = set()
    for result in results:
        pairs = [(names, result)]
        if isinstance(names, cst.Tuple) and isinstance(result, cst.Tuple):
            pairs = [(one.value, two.value) for one, two in zip(names.elements, result.elements, strict=False)]
        for target, value in pairs:
            for made, part in (each for place in _targets(target) for each in _filled(place, value)):
                keys = [each[len(made) :] for each in wanted if _are_one(made, {each})]
                found |= {(*place, *more) for more in keys for place in _places(part)}
    return found


def _value(node: cst.CSTNode) -> cst.CSTNode:
    """What a statement that is not an expression computes: its value."""
    return node.value if isinstance(node, (cst.Assign, cst.AugAssign)) else node


def _are_one(place: _Place, others: set[_Place]) -> bool:
    """Whether a place is one of the others or a part of it under any key, or whether one of them is a part of it."""
    return any(
        all(one == two or _ANY in (one, two) for one, two in zip(place, each, strict=False))
        and all(key == _ANY for key in place[len(each) :])
        for each in others
    )


@tree_cache(64)
def _made(root: cst.CSTNode) -> Sequence[_Made]:
    """What a function assigns, binds in loops and adds to containers."""
    return [
        _Made(place, (value,), node, adds=isinstance(node, (cst.AugAssign, cst.Expr)))
        for node in below(root)
        for place, value in _bound_by(node)
    ]


def _bound_by(node: cst.CSTNode) -> Iterator[tuple[_Place, cst.CSTNode]]:
    match node:
        case cst.Assign(targets=targets, value=value):
            for each in targets:
                yield from (found for place in _targets(each.target) for found in _filled(place, value))
        case (
            cst.AnnAssign(target=target, value=cst.BaseExpression() as value)
            | cst.AugAssign(target=target, value=value)
        ):
            yield from ((place, value) for place in _targets(target))
        case cst.For(target=target, iter=value):
            yield from ((place, value) for place in _targets(target))
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=holder, attr=cst.Name(name)), args=args)) if (
            name in _ADDS
        ):
            place = _place(holder)
            if place:
                yield from (found for each in args for found in _filled(place, each.value, (*place, _ANY)))


def _filled(place: _Place, value: cst.CSTNode, other: _Place = ()) -> Iterator[tuple[_Place, cst.CSTNode]]:
    """A place with its value, key by key if that is a dict display. other: the place for any other value."""
    if not isinstance(value, cst.Dict):
        yield other or place, value
        return
    for element in value.elements:
        match element:
            case cst.DictElement(key=cst.SimpleString() as key, value=part):
                yield (*place, str(key.evaluated_value)), part
            case cst.BaseDictElement(value=part):
                yield (*place, _ANY), part


@tree_cache(64)
def _reduced(root: cst.CSTNode) -> Sequence[_Made]:
    """The places that get what a call exchanges between ranks, and the arguments that such a call changes in place.

    Those are the arguments of a call without a result, and of one that returns before it is done.
    """
    found = [
        each
        for each in _made(root)
        if any(_exchanges(call) for part in each.parts for call in of_class(part, cst.Call))
    ]
    alone = {id(each.value) for each in of_class(root, cst.Expr)}
    for call in of_class(root, cst.Call):
        if _exchanges(call) and (id(call) in alone or keyword_value(call, ASYNCHRONOUS) is not None):
            # `meter.all_reduce()` is of the meter.
            given = [each.value for each in call.args] or [call]
            found += [_Made(place, (), call) for part in given for place in _places(part)]
    return found


def _exchanges(call: cst.Call) -> bool:
    name = last_name(call.func)
    return EXCHANGES.fits(name) and not (name == _PICKS and len(call.args) > 1)


def _targets(target: cst.BaseExpression) -> Iterator[_Place]:
    return (place for part in parts_of_target(target) if (place := _place(part)))


def _places(node: cst.CSTNode) -> Iterator[_Place]:
    """The places that an expression reads, each as far as it is a chain of keys, attributes and methods."""
    place = _place(node)
    if place:
        yield place
    for child in children(node):
        # `logs["loss"]` reads that place alone, and not all of `logs`.
        if not place or not _is_in_chain(node, child):
            yield from _places(child)


def _is_in_chain(node: cst.CSTNode, child: cst.CSTNode) -> bool:
    match node:
        case cst.Attribute() | cst.Subscript():
            return True
        case cst.Call(func=func):
            return child is func
    return False


def _place(node: cst.CSTNode) -> _Place:
    """`logs`, "loss" of `logs["loss"].detach()`; empty if it is no part of a variable."""
    match node:
        case cst.Name(name):
            return (name,)
        case cst.Attribute(value=cst.Name("self"), attr=cst.Name(name)):
            return (f"{_OF_SELF}{name}",)
        case cst.Attribute(value=value, attr=cst.Name(name)):
            place = _place(value)
            return (*place, name) if place and name not in _VIEWS else place
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
            place = _place(value)
            return (*place, str(key.evaluated_value)) if place else ()
        case cst.Subscript(value=value):
            place = _place(value)
            return (*place, _ANY) if place else ()
        case cst.Call(func=cst.Attribute(value=value)):
            return _place(value)
    return ()

"""Reductions in the text of a function that may be of what it logs, whether or not the analysis follows them.

    for key in logs:
        exchange_all_reduce(logs[key])          of `logs["loss"]`, in place, if the loop is over all keys
    if settings.several:
        loss = reduce_tensor(loss)              of `loss`, on one way
    total = sum_over_gpus(correct)
    log(total / count)                          of `total`, which the logged value is computed from
    logs["reward"] = accelerator.gather(x)      not of `logs["loss"]`
    log(loss)
    loss = reduce_tensor(loss)                  after the log: no
    every_loss = accelerator.gather(loss)
    log(loss)                                   of another name: no

Whoever writes this knows of the ranks, so that a value that seems unreduced behind it is more likely one whose
reduction is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.syntax import below, children, last_name, of_class, parts_of_target, precedes
from trl_lint.knowledge.heuristics import EXCHANGES

# A variable, and the keys and attributes by which a part of it is reached; `_ANY` for an index.
_Place: TypeAlias = tuple[str, ...]
_ANY = "*"
# Not in torch_ops: methods that add their argument to a container.
_ADDS = frozenset({"append", "extend", "update"})
# Attributes that are another view of the same numbers.
_VIEWS = frozenset({"data", "T"})
# `x.gather(dim, index)` picks elements of a tensor.
_PICKS = "gather"


class _Made(NamedTuple):
    """A place, the code that it is made of, the statement by which, and whether that is added to it."""

    place: _Place
    parts: tuple[cst.CSTNode, ...]
    node: cst.CSTNode
    adds: bool = False


def may_be_reduced(root: cst.CSTNode, logged: cst.CSTNode) -> bool:
    """Whether a function, or file, may have reduced what an expression or statement in it logs, in sight of it."""
    reduced = [each for each in _reduced(root) if precedes(root, each.node, logged)]
    if not reduced:
        return False
    places = set(_places(_value(logged)))
    # The logged value, what is added up in it, what it is computed from, and what is added up in that.
    for adds in (True, False, True):
        places |= {
            inner
            for each in _made(root)
            if each.adds is adds and _are_one(each.place, places)
            for part in each.parts
            for inner in _places(part)
        }
    return any(_are_one(each.place, places) for each in reduced)


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


@lru_cache(maxsize=64)
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


@lru_cache(maxsize=64)
def _reduced(root: cst.CSTNode) -> Sequence[_Made]:
    """The places that get what a call exchanges between ranks, and the arguments of such calls without a result."""
    found = [
        each
        for each in _made(root)
        if any(_exchanges(call) for part in each.parts for call in of_class(part, cst.Call))
    ]
    for node in of_class(root, cst.Expr):
        call = node.value
        if isinstance(call, cst.Call) and _exchanges(call):
            # `meter.all_reduce()` is of the meter.
            given = [each.value for each in call.args] or [call]
            found += [_Made(place, (), node) for part in given for place in _places(part)]
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
            return (f"self.{name}",)
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

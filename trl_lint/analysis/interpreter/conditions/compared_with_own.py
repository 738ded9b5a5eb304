"""Tests of whether what all ranks sent is what this rank sent: each gets the same answer, though its own value differs.

For example, after `dist.all_gather(sizes, size)`:

    all(each == size for each in sizes)         the same on all ranks: if two sizes differ, each rank sees another one
    any(each[0] != size[0] for each in sizes)   likewise
    all(each <= size for each in sizes)         true on the rank with the largest one only
    all(each == size for each in sizes[1:])     the first rank may be the one that differs
    all(each == other for each in sizes)        `other` is not what was sent
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import bindings
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assigned_once,
    assignments,
    innermost,
    last_name,
    names_in,
    of_class,
    only_element,
    precedes,
)
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import groups
from trl_lint.knowledge.schema import Collective

# What a collective returns that has the values of all ranks next to each other.
_RESULTS = frozenset({"gathered", "objects"})
# The operator that each of them needs for the same answer on all ranks.
_NEEDS: dict[str, type[cst.CSTNode]] = {"all": cst.Equal, "any": cst.NotEqual}
# Not in torch_ops: what reads a number, whatever holds it.
_READ = frozenset({"cpu", "detach", "flatten", "item", "numpy", "tolist", "view"})
_CONVERT = frozenset({"float", "int", "list", "str", "tuple"})
# What makes a tensor of its first argument.
_MAKE = frozenset({"LongTensor", "as_tensor", "tensor"})
_PLACE = frozenset({"cuda", "to"})


class _Sent:
    """By the id of the call in which all ranks send something: this, and what the call fills."""

    def __init__(self) -> None:
        self.by_call: dict[int, tuple[cst.BaseExpression, cst.BaseExpression | None]] = {}


def note(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> None:
    """Note what all ranks send each other in a collective, and where it is put."""
    if row.result not in _RESULTS or row.root is not None or row.operand is None:
        return
    sent = args.node(*row.operand) if isinstance(row.operand, tuple) else None
    if sent is None or not all(map(groups.is_of_all_ranks, groups.groups_of(row, args))):
        return
    filled = args.node(*row.into) if row.into is not None else None
    frame.notes.of(_Sent).by_call[id(node)] = sent.value, None if filled is None else filled.value


class _AskedOfAll(NamedTuple):
    """What a test asks of each of several things: both sides of it, the name of the thing, and all of them."""

    sides: tuple[cst.BaseExpression, cst.BaseExpression]
    item: str
    rows: cst.Name


def has_one_answer(frame: Frame, how: str, asked: cst.BaseExpression | None) -> bool:
    """Whether `all(…)` or `any(…)` asks if all ranks have sent what this one has."""
    test = _test(how, asked)
    if test is None or not containers.iterate(frame, frame.value_of(test.rows))[0].rank.is_reduced:
        return False
    for sent in _sent_into(frame, test.rows):
        own = tuple(_ways_to_say(frame.root, sent, test.rows))
        if any(_corresponds(*sides, test.item, own) for sides in (test.sides, test.sides[::-1])):
            return True
    return False


def _test(how: str, asked: cst.BaseExpression | None) -> _AskedOfAll | None:
    """What such a call asks, if that is whether all things are equal to another one."""
    match asked:
        case cst.GeneratorExp(elt=elt, for_in=loop) | cst.ListComp(elt=elt, for_in=loop):
            pass
        case _:
            return None
    is_plain = not loop.ifs and loop.inner_for_in is None and loop.asynchronous is None
    match elt, loop.target, loop.iter:
        case cst.Comparison(comparisons=[target]) as test, cst.Name(item), cst.Name() as rows if is_plain:
            is_right = type(target.operator) is _NEEDS[how]
            return _AskedOfAll((test.left, target.comparator), item, rows) if is_right else None
    return None


def _sent_into(frame: Frame, rows: cst.Name) -> Iterator[cst.BaseExpression]:
    """What this rank has sent where a variable has what all have sent, and both are still the same."""
    for call in of_class(frame.root, cst.Call):
        if id(call) in (by_call := frame.notes.of(_Sent).by_call):
            sent, filled = by_call[id(call)]
            held = _bound(frame.root, call) if filled is None else filled
            is_held = held is not None and held.deep_equals(rows)
            if is_held and _is_kept(frame.root, rows, call, rows) and _is_kept(frame.root, sent, call, rows):
                yield sent


def _is_kept(root: cst.CSTNode, node: cst.CSTNode, since: cst.CSTNode, until: cst.CSTNode) -> bool:
    """Whether all that get to a place come from another one, and no variable of an expression changes in between."""
    statement = innermost(root, since, cst.SimpleStatementLine)
    around = ancestors(root, until)
    if statement is None or ancestors(root, statement)[-1] not in around:
        return False
    # A later turn of a loop that begins in between may see what an earlier one has changed after the place.
    ends = next((each for each in around if isinstance(each, LOOPS) and precedes(root, statement, each)), until)
    changed = (each for name in of_class(node, cst.Name) for each in (*bindings(root, name), *_changes(root, name)))
    return not any(
        precedes(root, statement, each)
        and (precedes(root, each, until) or each is ends or ends in ancestors(root, each))
        for each in changed
    )


def _changes(root: cst.CSTNode, name: cst.Name) -> Iterator[cst.CSTNode]:
    """The calls of methods by which a tensor with a name is changed in place: `size.add_(1)`."""
    for call in of_class(root, cst.Call):
        match call.func:
            case cst.Attribute(value=owner, attr=cst.Name(method)) if method.endswith("_") and owner.deep_equals(name):
                yield call


def _bound(root: cst.CSTNode, call: cst.Call) -> cst.BaseExpression | None:
    """The variable to which a function assigns the result of a call, as it is or as numbers."""
    return next((target for target, value in assignments(root) if _read_from(value) is call), None)


def _ways_to_say(root: cst.CSTNode, sent: cst.BaseExpression, until: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is sent, in all words for it: the variable, what it is bound to, and the number that a tensor is made of."""
    yield sent
    made: cst.BaseExpression | None = sent
    if isinstance(sent, cst.Name):
        made = assigned_once(root, sent.value)
        if made is None or not _is_kept(root, made, made, until):
            return
    while made is not None:
        yield made
        made = _content(made)


def _content(made: cst.BaseExpression) -> cst.BaseExpression | None:
    """The number of which a tensor, or a list, with nothing else is made: `torch.tensor([size]).cuda()`."""
    match made:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in _PLACE:
            return owner
        case cst.Call(args=[cst.Arg(value=content), *_]) if last_name(made.func) in _MAKE:
            return content
        case cst.List():
            return only_element(made)
    return None


def _read_from(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a number is read from: `sizes` for `int(sizes.item())`."""
    while True:
        match node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if name in _READ:
                node = owner
            case cst.Call(func=cst.Name(name), args=[cst.Arg(value=given)]) if name in _CONVERT:
                node = given
            case _:
                return node


def _corresponds(
    one: cst.BaseExpression, other: cst.BaseExpression, item: str, own: tuple[cst.BaseExpression, ...]
) -> bool:
    """Whether the second says of what this rank has sent what the first says of the item."""
    one, other = _read_from(one), _read_from(other)
    if isinstance(one, cst.Name) and one.value == item:
        return any(other.deep_equals(_read_from(each)) for each in own)
    match one, other:
        case cst.Attribute(), cst.Attribute():
            is_same = one.attr.deep_equals(other.attr)
        case cst.Subscript(), cst.Subscript():
            is_same = not any(map(names_in, one.slice)) and one.with_changes(value=other.value).deep_equals(other)
        case _:
            return False
    return is_same and _corresponds(one.value, other.value, item, own)

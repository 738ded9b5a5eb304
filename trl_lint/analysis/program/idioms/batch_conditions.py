"""Which property of a batch a condition depends on: its size, or a text in it, or its numbers.

For example:

    if rows_seen >= args.rows: meet()             loaders yield the same number of rows on all ranks
    if int(len(rows) * args.part) > 0: meet()     a part of them
    if length > args.longest: meet()              a collator may pad all batches to one length
    if batch["task"] in WITH_PAIRS: meet()        one task per batch, as a sampler has arranged for all ranks
    if loss.item() > best: meet()                 depends on its numbers: no
    if patience >= args.patience: meet()          counts how often a test of them was true: no
    if len(rows[rows > 0]) == 0: meet()           the number of selected rows depends on their numbers: no

Numbers are only what shows as such: a reduction, a test for NaN, a selection, a loss, what is true or empty.

    if mask.any(): meet()                         its numbers
    worst = losses.max(); if worst > 9: meet()    the same
    if evaluate(net, rows) > 9: meet()            its numbers, if `evaluate` is in the same file and returns some
    if boxes: meet()                              whether there are any
    ready = batch.pop("ready", False); if ready:  whether somebody has marked the batch: no
    if rows_left(state) > 0: meet()               who knows, unless `rows_left` shows it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import (
    ancestors,
    below,
    last_name,
    names_in,
    of_class,
    operands,
    precedes,
    self_attribute,
    value_names,
)
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.heuristics import NOT_A_NUMBER, TRAINED_NUMBER
from trl_lint.knowledge.torch_ops import RankTransfer

_COMPUTED = (cst.BinaryOperation, cst.UnaryOperation)
# Not in torch_ops: Python functions of sizes whose result is again a size.
_KEEPS_SIZES = frozenset({"abs", "float", "int", "max", "min", "round", "sum"})
# Functions whose number of results depends on the elements. Not in torch_ops: only this property is needed here.
_SELECTS = frozenset({"argwhere", "filter", "masked_select", "nonzero", "unique", "where"})
# What is computed from all elements, and what makes a Python number of them. A test for the number of elements mostly
# is one for none: `if edges.numel() == 0:`.
_OF_NUMBERS = frozenset({
    RankTransfer.COUNT, RankTransfer.DECIDES, RankTransfer.INDEX, RankTransfer.REDUCES, RankTransfer.TO_LIST,
    RankTransfer.TO_NUMBER,
})  # fmt: skip
# How many assignments are followed to what a name in a condition is made of.
_MOST_STEPS = 3


def tests_only_sizes(root: cst.CSTNode, test: cst.CSTNode, differs: Callable[[cst.CSTNode], bool]) -> bool:
    """Whether all operands of a condition that differ between ranks are sizes.

    root: the function (or module) of the condition. differs: whether a part of the condition differs between ranks.
    """
    parts = [each for each in operands(test) if differs(each)]
    return bool(parts) and all(_is_size(root, each, frozenset()) for each in parts)


class CodePlace(NamedTuple):
    """The function (or module) that an expression is in, and its module. calls: how many are followed from there."""

    tree: cst.Module
    root: cst.CSTNode
    calls: int = 2


def tests_numbers(
    place: CodePlace, test: cst.CSTNode, differs: Callable[[cst.CSTNode], bool], asking: Set[int] = frozenset()
) -> bool:
    """Whether an operand of a condition that differs between ranks shows that it depends on the numbers in the data.

    asking: the ids of calls that are known to return what depends on numbers.
    """
    if any(differs(each) and any(id(part) in asking for part in below(each)) for each in operands(test)):
        return True
    if _asks_for_selected(place.root, test):
        return True
    if any(differs(each) and not _are_marks(place.root, each) for each in _tested_as_they_are(test)):
        return True
    return any(_shows_numbers(place, each, _MOST_STEPS) for each in operands(test) if differs(each))


def _asks_for_selected(root: cst.CSTNode, test: cst.CSTNode) -> bool:
    """Whether a condition only asks whether a list of elements that pass a test has any: `if hard:`, `if not hard:`.

    The list itself, unlike its length, does not differ between ranks.
    """
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _asks_for_selected(root, inner)
        case cst.Name():
            return _is_selected(root, test)
    return False


def returns_numbers(place: CodePlace) -> bool:
    """Whether all that decides what a function returns shows that it depends on numbers.

    What decides about a `return` of True are the conditions in the function. Tests for NaN do not count: they are for
    data that are broken.
    """
    results = [each.value for each in of_class(place.root, cst.Return) if each.value is not None]
    tests = [each.test for each in of_class(place.root, cst.If)] if any(map(_is_truth, results)) else []
    deciding = [*tests, *(each for each in results if not _is_truth(each))]
    if any(NOT_A_NUMBER.fits(name) for each in deciding for name in names_in(each)):
        return False
    return bool(deciding) and all(
        any(_shows_numbers(place, each, _MOST_STEPS) for each in operands(part)) for part in deciding
    )


def _tested_as_they_are(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The variables of which a condition asks only whether they are true, or hold something: `if boxes and valid:`."""
    match test:
        case cst.BooleanOperation(left=left, right=right):
            yield from _tested_as_they_are(left)
            yield from _tested_as_they_are(right)
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            yield from _tested_as_they_are(inner)
        case cst.Attribute() | cst.Name() | cst.Subscript():
            yield test


def _are_marks(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a variable only says which keys somebody has put into a dict: `"text" in batch`, or marks as true."""
    values = [each.value for each in _assigned(root, node.value)] if isinstance(node, cst.Name) else []
    return all(map(_is_mark, values)) and not all(map(_is_truth, values))


def _is_mark(node: cst.CSTNode) -> bool:
    match node:
        case cst.BooleanOperation(left=left, right=right):
            return _is_mark(left) and _is_mark(right)
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _is_mark(inner)
        case cst.Comparison(left=cst.SimpleString(), comparisons=[cst.ComparisonTarget(cst.In() | cst.NotIn())]):
            return True
        case cst.Call(func=cst.Name("bool"), args=[cst.Arg(value=inner)]):
            return _is_mark(inner)
        case cst.Call(func=cst.Attribute(attr=cst.Name("get" | "pop")), args=[key, cst.Arg(value=default)]):
            return isinstance(key.value, cst.SimpleString) and _is_truth(default)
    return _is_truth(node)


def _is_truth(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value in ("True", "False")


def _shows_numbers(place: CodePlace, node: cst.CSTNode, steps: int) -> bool:
    """Whether an expression computes something from numbers. steps: the assignments that are followed from here."""
    return any(_is_of_numbers(place, each, steps) for each in below(node))


def _is_of_numbers(place: CodePlace, node: cst.CSTNode, steps: int) -> bool:
    match node:
        case cst.Call(func=func, args=args):
            name = last_name(func)
            if NOT_A_NUMBER.fits(name) or name in _SELECTS or torch_ops.of_method(name).rank in _OF_NUMBERS:
                return True
            if name == "len":
                return any(_is_selected(place.root, each.value) for each in args)
            return place.calls > 0 and _gives_numbers(place, func)
        case cst.Attribute(attr=cst.Name(name)):
            return name == "requires_grad"
        case cst.Name(name):
            return bool(TRAINED_NUMBER.fits(name)) or (steps > 0 and _is_made_of_numbers(place, name, steps - 1))
    return False


def _is_made_of_numbers(place: CodePlace, name: str, steps: int) -> bool:
    """Whether a value that a function assigns to a name comes from numbers, or is assigned after a test of them."""
    root = place.root
    for each in _assigned(root, name):
        tests = [around.test for around in ancestors(root, each) if isinstance(around, cst.If)]
        if any(_shows_numbers(place, part, steps) for part in (each.value, *tests)):
            return True
    return False


def _gives_numbers(place: CodePlace, called: cst.BaseExpression) -> bool:
    """Whether a function of the same module, or a method of `self`, returns something that it computes from numbers."""
    if not isinstance(called, cst.Name) and not self_attribute(called):
        return False
    named = [each for each in of_class(place.tree, cst.FunctionDef) if each.name.value == last_name(called)]
    return len(named) == 1 and returns_numbers(place._replace(root=named[0], calls=place.calls - 1))


def is_computed_from(
    root: cst.CSTNode, node: cst.CSTNode, is_source: Callable[[cst.CSTNode], bool], steps: int = _MOST_STEPS
) -> bool:
    """Whether a part of an expression is a source, or a name whose last value before comes from one.

    root: the function (or module) of the expression. steps: the assignments that are followed from here.
    """
    if any(map(is_source, below(node))):
        return True
    for name in value_names(node) if steps else ():
        before = [each.value for each in _assigned(root, name.value) if precedes(root, each, node)]
        if before and is_computed_from(root, before[-1], is_source, steps - 1):
            return True
    return False


def compared_with_text(test: cst.CSTNode) -> list[cst.BaseExpression]:
    """The operand that a condition compares with a text, or looks up in a collection, if it does nothing else."""
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.In() | cst.NotIn())]):
            return [left]
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal() | cst.NotEqual(), right)]):
            compared = [each for each in (left, right) if not isinstance(each, cst.SimpleString)]
            return compared if len(compared) == 1 else []
    return []


def _is_size(root: cst.CSTNode, node: cst.CSTNode, known: frozenset[str]) -> bool:
    """Whether an expression is a size, or computed from sizes. known: the names that are assumed to be sizes."""
    match node:
        case cst.Integer() | cst.Float():
            return True
        case cst.Name(name):
            return name in known or _are_sizes(root, name, known | {name})
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=measured)]):
            return not _is_selected(root, measured)
        case cst.Call(func=cst.Name(name), args=args) if name in _KEEPS_SIZES:
            return all(_is_size(root, each.value, known) for each in args)
        case cst.Call(func=cst.Attribute(value=measured, attr=cst.Name("size"))):
            return not _is_selected(root, measured)
        case cst.Subscript(value=cst.Attribute(value=measured, attr=cst.Name("shape"))):
            return not _is_selected(root, measured)
        case cst.Attribute(value=measured, attr=cst.Name("shape")):
            return not _is_selected(root, measured)
    if not isinstance(node, _COMPUTED):
        return False
    parts = [each for each in operands(node) if not isinstance(each, cst.BaseNumber)]
    sizes = [each for each in parts if not _is_setting(each)]
    # An attribute may be anything: `2 * self.loss` is no size, `self.part * len(rows)` is one.
    return bool(sizes or not parts) and all(_is_size(root, each, known) for each in sizes)


def _is_setting(node: cst.CSTNode) -> bool:
    """Whether it is a constant of the module, or an attribute, as settings are: `RATIO`, `args.ratio`."""
    match node:
        case cst.Name(name):
            return name.isupper()
        case cst.Attribute(attr=cst.Name(name)):
            return name != "shape"
    return False


def _are_sizes(root: cst.CSTNode, name: str, known: frozenset[str]) -> bool:
    """Whether all values that a function assigns to a name are sizes."""
    assigned = _assigned(root, name)
    if _counts_outcomes(root, assigned):
        return False
    return bool(assigned) and all(_is_size(root, each.value, known) for each in assigned)


def _assigned(root: cst.CSTNode, name: str) -> list[cst.Assign | cst.AugAssign]:
    found: list[cst.Assign | cst.AugAssign] = [each for each in of_class(root, cst.Assign) if _binds(each, name)]
    return found + [each for each in of_class(root, cst.AugAssign) if names_in(each.target) == {name}]


def _counts_outcomes(root: cst.CSTNode, assigned: Sequence[cst.Assign | cst.AugAssign]) -> bool:
    """Whether a number counts how often a test was true, as the patience of an early stopping does."""
    return all(isinstance(each.value, cst.Integer) for each in assigned) and any(
        isinstance(around, cst.If) for each in assigned for around in ancestors(root, each)
    )


def _binds(assign: cst.Assign, name: str) -> bool:
    return any(name in names_in(each.target) for each in assign.targets)


def _is_selected(root: cst.CSTNode, measured: cst.CSTNode) -> bool:
    """Whether the number of elements of a value depends on its numbers, as far as the function shows."""
    match measured:
        case cst.Name(name):
            values = [each.value for each in of_class(root, cst.Assign) if _binds(each, name)]
            return any(not isinstance(each, cst.Name) and _is_selected(root, each) for each in values)
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]):
            return not isinstance(index, (cst.Integer, cst.SimpleString))
        case cst.ListComp(for_in=cst.CompFor(ifs=ifs)):
            return bool(ifs)
        case cst.Call():
            return last_name(measured.func) in _SELECTS
    return False

"""Rows of which all ranks get as many: their number is chosen, or the code makes it fit the number of ranks.

Each of these is dealt evenly, as far as anyone can tell:

    pad_rows(rows), pad(rows, size), rows * size
    rows + rows[:missing], rows.append(rows[0])              made longer by rows of their own
    ["a", "b", "c", "d"], range(64), np.arange(args.rows)    a number that is written out, or that the settings choose
    own = rows[rank::size]                                   whose number the code changes, or compares with that of
    if len(own) < most: own.append(own[-1])                  others: it makes up for what a rank has less
    def run(part): for row in part[rank::size]: ...          of rows that the callers in the file make fit:
    run(rows[: len(rows) // size * size])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import (
    assigned_once,
    assignments,
    last_name,
    named_parameters,
    names_in,
    of_class,
    resolved,
    used_names,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.written_lengths import written_length
from trl_lint.analysis.transfer.data.places_of_shares import is_size
from trl_lint.domain.kinds import TupleValue
from trl_lint.knowledge.heuristics import PADS_ROWS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

# Calls that give as many numbers as they are told, and those that give as many rows as they get.
_COUNTS = frozenset({"arange", "linspace", "randperm", "range"})
_KEEPS = frozenset({"array", "asarray", "list", "permutation", "sorted", "tensor", "tolist", "tuple"})
# Methods that change the number of rows of a list.
_CHANGES = frozenset({"append", "extend", "insert", "pop", "remove"})


def is_fitted(frame: Frame, rows: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether rows, or their number, are fitted to the number of ranks, or are chosen to be as many as they are."""
    counted = counted_in(rows) or rows
    return (
        any(_fits(frame, each, size) for each in _made_of(frame.root, counted))
        or (isinstance(counted, cst.Name) and counted.value in _grown(frame.root))
        or _is_chosen(frame, counted)
        or _is_given_fitted(frame, counted, size)
    )


def counted_in(number: cst.BaseExpression) -> cst.BaseExpression | None:
    """`rows` in `len(rows)`."""
    match number:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=rows)]):
            return rows
    return None


def counts_rows(frame: Frame, number: cst.BaseExpression) -> bool:
    """Whether a number is that of some rows, and none that is written out or that the settings choose."""
    counted = resolved(frame.root, number)
    return last_name(counted.func) == "len" if isinstance(counted, cst.Call) else False


def _made_of(root: cst.CSTNode, rows: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    yield rows
    yield from (value for target, value in _bound(root) if target.deep_equals(rows))


def _bound(root: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What a function assigns to, each with the value, also with an annotation: `rows: list[str] = …`."""
    yield from assignments(root)
    yield from ((each.target, each.value) for each in of_class(root, cst.AnnAssign) if each.value is not None)


def _fits(frame: Frame, made: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether rows come from a call that knows how many ranks there are, or that makes them more."""
    for call in of_class(made, cst.Call):
        if PADS_ROWS.fits(last_name(call.func)) or any(_is_size_of(frame, each.value, size) for each in call.args):
            return True
    for each in of_class(made, cst.BinaryOperation):
        match each:
            case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
                if any(_is_size_of(frame, one, size) for one in (left, right)):
                    return True
            case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
                if isinstance(left, cst.Name) and left.value in used_names(right):
                    return True
    return False


def _is_size_of(frame: Frame, number: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether a number is that of all ranks: in a caller, of which the values are not known here, by its name."""
    return is_size(frame, number) or (size is not None and last_name(size) == last_name(number) != "")


# Asked for each share of a function in turn.
@tree_cache(64)
def _grown(root: cst.CSTNode) -> frozenset[str]:
    """The lists that a function makes longer by rows of their own, or as long as a number asks for."""
    found = set[str]()
    for name, change in _changes(root):
        found |= {name} & names_in(change)
    blocks = [(each.test, each.body) for each in of_class(root, cst.While)]
    blocks += [(each.test, each.body) for each in of_class(root, cst.If)]
    for test, body in blocks:
        counted = (counted_in(each) for each in of_class(test, cst.Call))
        names = {last_name(each) for each in counted if each is not None} - {""}
        found |= {name for name, _ in _changes(body) if name in names}
    return frozenset(found)


def _changes(root: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    """The lists whose length some code changes, each with what it adds."""
    for each in of_class(root, cst.AugAssign):
        yield last_name(each.target), each.value
    for call in of_class(root, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=rows, attr=cst.Name(method)), args=args) if method in _CHANGES:
                yield from ((last_name(rows), each) for each in args)


def _is_chosen(frame: Frame, rows: cst.BaseExpression) -> bool:
    """Whether rows are written out, or are as many as a number that is written out, or that the settings choose."""
    todo, passed = [rows], set[int]()  # a name may stand for itself: `rows = sorted(rows)`
    while todo:
        made = todo.pop()
        if id(made) in passed:
            continue
        passed.add(id(made))
        if written_length(frame, frame.value_of(made)) or _has_chosen_number(frame, made):
            return True
        todo += _definitions(frame, made) if isinstance(made, cst.Name) else _rows_of_as_many(made)
    return False


def _has_chosen_number(frame: Frame, rows: cst.BaseExpression) -> bool:
    match rows:
        case cst.List(elements=[_, *_]) | cst.Tuple(elements=[_, *_]):
            return not any(isinstance(each, cst.StarredElement) for each in rows.elements)
        case cst.Call(func=func, args=[_, *_]) if last_name(func) in _COUNTS:
            return not any(_asks_for_rows(frame, each.value) for each in rows.args)
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice(lower=None, upper=end, step=None))]):
            return end is not None and not _asks_for_rows(frame, end)
    return isinstance(frame.value_of(rows), TupleValue)


def _rows_of_as_many(made: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Rows of which others are made, one of each: `sorted(rows)`, `[f(row) for row in rows]`."""
    match made:
        case cst.Call(func=cst.Attribute(value=rows, attr=cst.Name("tolist"))):
            yield rows
        case cst.Call(func=func, args=[cst.Arg(value=rows), *_]) if last_name(func) in _KEEPS:
            yield rows
        case cst.ListComp(for_in=cst.CompFor(iter=rows, ifs=[], inner_for_in=None)):
            yield rows


def _asks_for_rows(frame: Frame, number: cst.BaseExpression) -> bool:
    """Whether a number is made of that of some rows."""
    made = [number, *_definitions(frame, number)]
    return any(last_name(call.func) == "len" for each in made for call in of_class(each, cst.Call))


def _definitions(frame: Frame, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What a name is assigned in the function, or else, if only once, in the file."""
    if not isinstance(node, cst.Name):
        return []
    found = [value for target, value in _bound(frame.root) if target.deep_equals(node)]
    if found or node.value in _parameters(frame.root):
        return found
    once = assigned_once(frame.module.tree, node.value)
    return [] if once is None else [once]


def _parameters(root: cst.CSTNode) -> list[str]:
    return named_parameters(root.params) if isinstance(root, cst.FunctionDef) else []


def _is_given_fitted(frame: Frame, rows: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether a function gets rows from calls in the file, of which one makes them fit the number of ranks."""
    root = frame.root
    if not isinstance(root, cst.FunctionDef) or last_name(rows) not in _parameters(root):
        return False
    for caller, call in _calls(frame.module.tree):
        if last_name(call.func) != root.name.value:
            continue
        made = [each for arg in call.args for each in _made_of(caller, arg.value)]
        names = frozenset[str]().union(*(used_names(arg.value) for arg in call.args))
        if any(_fits(frame, each, size) for each in made) or _asks_for_rest(frame, caller, names, size):
            return True
    return False


# Asked for each share of rows that a function gets.
@tree_cache(16)
def _calls(tree: cst.Module) -> tuple[tuple[cst.CSTNode, cst.Call], ...]:
    """The calls in the functions of a file, each with its function, and those outside of them with the file."""
    functions = of_class(tree, cst.FunctionDef)
    found = {id(call): (function, call) for function in functions for call in of_class(function, cst.Call)}
    return tuple(found.get(id(call), (tree, call)) for call in of_class(tree, cst.Call))


def _asks_for_rest(frame: Frame, caller: cst.CSTNode, names: Iterable[str], size: cst.BaseExpression | None) -> bool:
    """Whether a caller asks how many of some rows would be left: `len(rows) % size`."""
    return any(
        isinstance(each.operator, cst.Modulo)
        and _is_size_of(frame, each.right, size)
        and not used_names(each.left).isdisjoint(names)
        for each in of_class(caller, cst.BinaryOperation)
    )


def is_made_up_for(frame: Frame, share: cst.CSTNode) -> bool:
    """Whether the code changes the number of a rank's rows afterwards, or asks how many they are less than others.

    share: the expression of these rows, perhaps in one that a name stands for.
    """
    names = _names_of_parts(frame.root).get(id(share), frozenset())
    return not names.isdisjoint(_changed(frame.root) | _compared(frame.root))


# Asked for each share of a function in turn.
@tree_cache(64)
def _names_of_parts(root: cst.CSTNode) -> Mapping[int, frozenset[str]]:
    """By the identity of an expression, the names that stand for it, or for one that it is a part of."""
    found: dict[int, frozenset[str]] = {}
    for target, value in _bound(root):
        name = last_name(target)
        for each in (*of_class(value, cst.Subscript), *of_class(value, cst.Call), *of_class(value, cst.ListComp)):
            found[id(each)] = found.get(id(each), frozenset()) | ({name} - {""})
    return found


# Asked for each share of a function in turn.
@tree_cache(64)
def _changed(root: cst.CSTNode) -> frozenset[str]:
    """The lists whose length a function changes."""
    return frozenset(name for name, _ in _changes(root))


# Asked for each share of a function in turn.
@tree_cache(64)
def _compared(root: cst.CSTNode) -> frozenset[str]:
    """The lists whose length a function subtracts from another number: `most - len(own)`."""
    taken = (each.right for each in of_class(root, cst.BinaryOperation) if isinstance(each.operator, cst.Subtract))
    return frozenset(last_name(counted_in(each)) for each in taken) - {""}

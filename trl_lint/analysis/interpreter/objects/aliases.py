"""Tensors that a collective changes in place under another name, and models that are wrapped under another name.

For example:

    def sync(x): dist.all_reduce(x)                    sync(total) has reduced `total`
    for x in (total, count): dist.all_reduce(x)        and so has this loop
    for x in sums.values(): dist.all_reduce(x)         the values in the dict are reduced
    [dist.all_reduce(x) for x in (total, count)]       a comprehension acts like a loop
    def sync(xs): …                                    sync([total, count]) has reduced both, as has
    def sync(*xs): …                                   sync(total, count)
    def wrap(m): return DDP(m)                         after wrap(net), `net` is the module inside the wrapper
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import libcst as cst

from trl_lint.analysis.interpreter.objects import assignment
from trl_lint.analysis.program.syntax import assigned_once, names_in, of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import Identity, IterableValue, TupleValue
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.values import Kind, Value, Wrapping

# Loops over at most this many tensors are run once for each; those of at most as many statements over more.
_MAX_TENSORS = 8
_SHORT, _MAX_IN_SHORT = 3, 64


def became_uniform(code: cst.CSTNode, before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    """The names of tensors that differed before some code and do not after it, with their new values.

    Names that the code rebinds are excluded: they refer to another tensor afterwards.
    """
    found = {
        name: after[name]
        for name, value in before.items()
        if name in after and value.rank.differs and _is_reduced(value, after[name])
    }
    if found:
        for name in _bound_in(code):
            found.pop(name, None)
    return found


def _is_reduced(before: Value, after: Value) -> bool:
    """Whether a tensor differed between ranks and does not any more.

    What a model of unknown class returns is a batch, and an attribute that was a number before it was a tensor is
    unknown: of these, a collective must have made the difference.
    """
    if before.kind is Kind.TENSOR:
        return not after.rank.differs
    return before.kind in (Kind.BATCH, Kind.UNKNOWN) and (after.rank.is_reduced or after.rank == ranks.AGREED)


def changed_for_caller(code: cst.CSTNode, before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    """The arguments that a function has changed: tensors that became uniform, and models that it has wrapped."""
    changed = {
        name: after[name]
        for name, value in before.items()
        if name in after and (_is_inside(value, after[name]) or _has_reduced(value, after[name]))
    }
    for name in _bound_in(code) if changed else ():
        changed.pop(name, None)
    return {**became_uniform(code, before, after), **changed}


def _has_reduced(before: Value, after: Value) -> bool:
    """Whether tensors of a tuple differed between ranks and do not any more."""
    if not isinstance(before, TupleValue) or not isinstance(after, TupleValue) or before is after:
        return False
    pairs = list(zip(before.items, after.items, strict=False))
    return any(_is_own_tensor(old) and _is_reduced(old, new) for old, new in pairs)


def _is_inside(before: Value, after: Value) -> bool:
    """Whether a bare model is the module inside a wrapper now."""
    return wrapping_of(before) is Wrapping.BARE and after.wrapping is Wrapping.UNWRAPPED


def _bound_in(code: cst.CSTNode) -> Iterator[str]:
    targets: list[cst.CSTNode] = [each.target for each in of_class(code, cst.AssignTarget)]
    targets += (each.target for each in of_class(code, cst.AnnAssign))
    targets += (each.target for each in of_class(code, cst.For))
    targets += (each.target for each in of_class(code, cst.NamedExpr))
    for target in targets:
        if isinstance(target, (cst.List, cst.Name, cst.Tuple)):
            yield from names_in(target)


# --- calls ----------------------------------------------------------------------------------------------


def listed_in(frame: Frame, args: Arguments) -> list[tuple[Identity, Cell, frozenset[str]]]:
    """The lists and dicts of tensors that a call is passed, before the call, with the names of what is in them."""
    found = []
    for place, value in enumerate(args.positional):
        identity = next(iter(value.identities), None) if value.kind is Kind.CONTAINER else None
        cell = None if identity is None else frame.memory.heap.get(identity)
        expression = args.expression(place)
        if identity is None or cell is None or expression is None or not any(map(_is_own_tensor, cell.values())):
            continue
        listed = assigned_once(frame.root, expression.value) if isinstance(expression, cst.Name) else expression
        if listed is not None:
            found.append((identity, cell, frozenset(names_in(listed))))
    return found


def rename_reduced(frame: Frame, lists: Iterable[tuple[Identity, Cell, frozenset[str]]]) -> None:
    """Give the names of tensors that a call has reduced in a list or dict their new values."""
    for identity, cell, names in lists:
        after = frame.memory.heap.get(identity, cell)
        for key, old in cell.entries.items() if after is not cell else ():
            new = after.entries.get(key, old)
            if new is not old and _is_own_tensor(old) and _is_reduced(old, new):
                for name in names:
                    if frame.memory.names.get(name) is old:
                        frame.memory.names[name] = new


def _is_own_tensor(value: Value) -> bool:
    return value.kind is Kind.TENSOR and value.rank.differs


# --- loops ----------------------------------------------------------------------------------------------


def tensors_to_unroll(frame: Frame, node: cst.For | cst.CompFor, iterable: Value) -> list[Value] | None:
    """The items of a short tuple or list of tensors over which a loop runs once for each; None if it does not."""
    items = containers.positions_of(frame, iterable)
    if not items or not isinstance(node.target, cst.Name):
        return None
    if len(items) > _MAX_TENSORS and not (len(items) <= _MAX_IN_SHORT and _is_short(node)):
        return None
    return list(items) if any(item.kind is Kind.TENSOR and item.rank.differs for item in items) else None


def _is_short(node: cst.For | cst.CompFor) -> bool:
    return isinstance(node, cst.CompFor) or len(of_class(node.body, cst.SimpleStatementLine)) <= _SHORT


def write_back(frame: Frame, node: cst.For, iterable: Value, entry: Value, index: int) -> None:
    """Write the tensors reduced in an iteration back to the iterable, and to their other names.

    index: the number of the iteration, in a loop that is run once for each item.
    """
    before = dict(_variables(node.target, entry))
    for name, value in became_uniform(node.body, before, frame.memory.names).items():
        for other, known in frame.memory.names.items():
            if known is before[name]:
                frame.memory.names[other] = value
        _replace(frame, iterable, before[name], value)
        expression = _expression(node.iter, index)
        if expression is not None:
            assignment.rebind(frame, expression, value)


def bound(frame: Frame, target: cst.CSTNode) -> dict[str, Value]:
    """The variables of a loop or comprehension, with their values at the start of an iteration."""
    return {name: frame.memory.names[name] for name in names_in(target) if name in frame.memory.names}


def write_back_all(frame: Frame, listed: cst.BaseExpression, iterable: Value, reduced: Mapping[str, Value]) -> None:
    """Write the tensors reduced in one iteration for all items back to all items of the iterable.

    listed: the expression of the iterable. reduced: the reduced tensors, by loop variable.
    """
    for value in reduced.values():
        for old in list(_differing(frame, iterable)):
            for other, known in frame.memory.names.items():
                if known is old:
                    frame.memory.names[other] = value
            _replace(frame, iterable, old, value)
        elements: Sequence[cst.BaseElement] = listed.elements if isinstance(listed, (cst.List, cst.Tuple)) else ()
        for element in elements:
            assignment.rebind(frame, element.value, value)


def write_back_zipped(frame: Frame, node: cst.For, element: Value, of_one: bool = False) -> None:
    """Write the tensors reduced in a loop over several lists back to them: `for x, y in zip(sums, totals): x.copy_(y)`.

    element: what the loop variables were at the start of an iteration. of_one: only this iteration has been run.
    """
    for target, listed in _zipped(node):
        before = dict(_variables(node.target, element))
        name = target.value if isinstance(target, cst.Name) else ""
        reduced = became_uniform(node.body, {name: before[name]}, frame.memory.names) if name in before else {}
        if reduced and of_one:
            _replace(frame, frame.engine.evaluate(frame, listed), before[name], reduced[name])
        elif reduced:
            write_back_all(frame, listed, frame.engine.evaluate(frame, listed), reduced)


def _zipped(node: cst.For) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The loop variables of a loop over `zip(…)` or `enumerate(…)`, each with the expression of its list."""
    match node:
        case cst.For(target=cst.Tuple(elements=targets), iter=cst.Call(func=cst.Name("zip"), args=lists)):
            given = [each for each in lists if each.keyword is None]
        case cst.For(target=cst.Tuple(elements=[_, *targets]), iter=cst.Call(func=cst.Name("enumerate"), args=lists)):
            given = [*lists[:1]]
        case _:
            return
    if not any(each.star for each in lists):
        yield from ((target.value, each.value) for target, each in zip(targets, given, strict=False))


def _differing(frame: Frame, iterable: Value) -> Iterator[Value]:
    if isinstance(iterable, IterableValue) and iterable.view is not None:
        iterable = iterable.view[0]
    yield from (item for item in frame.memory.contents(iterable) if item.kind is Kind.TENSOR and item.rank.differs)


def _variables(target: cst.CSTNode, entry: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(target, cst.Name):
        yield target.value, entry
    elif isinstance(target, (cst.List, cst.Tuple)):
        for element, item in zip(target.elements, entry.items, strict=False):
            yield from _variables(element.value, item)


def _expression(listed: cst.BaseExpression, index: int) -> cst.BaseExpression | None:
    """The element at an index of a list or tuple display."""
    elements: Sequence[cst.BaseElement] = listed.elements if isinstance(listed, (cst.List, cst.Tuple)) else ()
    is_plain = index < len(elements) and not any(isinstance(each, cst.StarredElement) for each in elements)
    return elements[index].value if is_plain else None


def _replace(frame: Frame, iterable: Value, old: Value, new: Value) -> None:
    """Replace a value by another in a container, in the dict behind a view, or in a tuple of the function."""
    if isinstance(iterable, IterableValue) and iterable.view is not None:
        iterable = iterable.view[0]

    if isinstance(iterable, TupleValue):
        for name, known in frame.memory.names.items():
            if isinstance(known, TupleValue) and any(each is old for each in known.items):
                frame.memory.names[name] = known.with_parts(tuple(new if each is old else each for each in known.items))

    def replaced(cell: Cell) -> Cell:
        entries = {key: new if value is old else value for key, value in cell.entries.items()}
        rest = new if cell.rest is old else cell.rest
        return cell.holding(entries, rest)

    frame.update(iterable, replaced)

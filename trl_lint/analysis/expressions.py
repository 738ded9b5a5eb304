"""Expressions: what value each of them has."""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis import calls, facts, members, tensors
from trl_lint.analysis.conditions import narrow, truth
from trl_lint.analysis.facts import State
from trl_lint.analysis.frame import Frame, derived
from trl_lint.analysis.heap import REST, WILDCARD, Cell, join, join_elements, read_key, with_key
from trl_lint.analysis.values import (
    BOTTOM,
    MISSING,
    NO_WRITES,
    NONE,
    UNKNOWN,
    Kind,
    Value,
    World,
)


def evaluate(frame: Frame, node: Any) -> Value:
    """The value of an expression at the current program point."""
    handler = HANDLERS.get(type(node))
    return UNKNOWN if handler is None else handler(frame, node)


# --- names and literals ---------------------------------------------------------------------------------


def lookup(frame: Frame, name: str) -> Value | None:
    """The value a name has here: local, of an enclosing function, global or builtin.

    A name imported from another file of the project is not looked up before something is done with it.
    """
    scope: Frame | None = frame
    while scope is not None:
        value = scope.memory.names.get(name)
        if value is not None:
            if scope is not frame:
                _bring_cells(frame, scope, value)
            return value
        scope = scope.outer
    return frame.engine.global_name(frame.module, name, frame)


def _bring_cells(frame: Frame, scope: Frame, value: Value) -> None:
    if scope.memory is not frame.memory and value.kind in (Kind.CELLS, Kind.TUPLE):
        frame.memory.load(value, scope.memory.heap)


def _name(frame: Frame, node: cst.Name) -> Value:
    value = lookup(frame, node.value)
    return UNKNOWN if value is None else value


_INTEGER = Value(facts.SAME, Kind.NUMBER, scalar=True, dtype="int")


def _integer(frame: Frame, node: cst.Integer) -> Value:
    return Value(facts.SAME, Kind.NUMBER, const=int(node.value, 0), scalar=True, dtype="int")


def _float(frame: Frame, node: cst.Float) -> Value:
    return Value(facts.SAME, Kind.NUMBER, const=float(node.value), scalar=True, dtype="float")


def _string(frame: Frame, node: cst.SimpleString) -> Value:
    return Value(facts.SAME, Kind.STRING, const=node.raw_value)


def _concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    return _add_texts(left, right)


def _add_texts(left: Value, right: Value) -> Value:
    rank = facts.combine(left.rank, right.rank)
    a = left.const if isinstance(left.const, str) else WILDCARD
    b = right.const if isinstance(right.const, str) else WILDCARD
    return derived(rank, Kind.STRING, left, right, const=a + b)


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    """An f-string; its unknown parts are wildcards, so that it can still serve as a key."""
    parts: list[str] = []
    values: list[Value] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            parts.append(part.value)
            continue
        value = evaluate(frame, part.expression)
        values.append(value)
        known = isinstance(value.const, (str, int)) and part.conversion is None and part.format_spec is None
        parts.append(str(value.const) if known else WILDCARD)
    rank = facts.combine_all(value.rank for value in values)
    return derived(facts.nonlinear(rank), Kind.STRING, *values, const="".join(parts))


# --- containers -----------------------------------------------------------------------------------------


def _tuple(frame: Frame, node: cst.Tuple) -> Value:
    items: list[Value] = []
    for element in node.elements:
        value = evaluate(frame, element.value)
        if isinstance(element, cst.StarredElement):
            if value.kind is not Kind.TUPLE:
                return _list_of(frame, node, [iterate(frame, value)[0]])
            items.extend(value.data)
        else:
            items.append(value)
    return Value(facts.SAME, Kind.TUPLE, tuple(items))


def _list(frame: Frame, node: Any) -> Value:
    values: list[Value] = []
    exact = True
    for element in node.elements:
        value = evaluate(frame, element.value)
        if isinstance(element, cst.StarredElement):
            value, exact = iterate(frame, value)[0], False
        values.append(value)
    if exact and isinstance(node, cst.List):
        return frame.allocate(node, Cell("list", dict(enumerate(values))))
    return _list_of(frame, node, values, "list" if isinstance(node, cst.List) else "set")


def _list_of(frame: Frame, node: Any, values: list[Value], shape: str = "list") -> Value:
    element: Value | None = None
    for value in values:
        element = value if element is None else join(element, value)
    return frame.allocate(node, Cell(shape, rest=element))


def _dict(frame: Frame, node: cst.Dict) -> Value:
    cell = Cell("dict")
    for element in node.elements:
        value = evaluate(frame, element.value)
        if isinstance(element, cst.StarredDictElement):
            cell = merged_into(frame, cell, value)
        else:
            key = constant_key(evaluate(frame, element.key))
            what = key.replace(WILDCARD, "…") if isinstance(key, str) else ""
            cell = with_key(cell, key, frame.written(value, what))
    return frame.allocate(node, cell)


def merged_into(frame: Frame, cell: Cell, other: Value) -> Cell:
    """The cell after `update(other)`: key by key where the other's keys are known."""
    if other.kind is Kind.CELLS:
        for theirs in frame.memory.cells(other):
            for key, value in theirs.entries.items():
                cell = with_key(cell, key, value)
            if theirs.rest is not None:
                cell = with_key(cell, MISSING, theirs.rest)
        return cell
    if other.kind is Kind.NONE:
        return cell
    value = UNKNOWN
    if other.rank.differs or other.kind is Kind.BATCH:
        value = other.but(kind=Kind.BATCH, data=None)
    return with_key(cell, MISSING, frame.written(value, ""))


def constant_key(value: Value) -> Any:
    """What a subscript's value is as a key of a cell: a constant, or MISSING."""
    const = value.const
    if const is REST or (const is not MISSING and isinstance(const, (str, int, float, bool, type(None)))):
        return MISSING if const == WILDCARD else const
    return MISSING


def _comprehension(frame: Frame, node: Any) -> Value:
    """A list, set or generator comprehension: one element that stands for all."""
    saved = dict(frame.memory.names)
    length, taken = _bind_comprehension(frame, node.for_in)
    element = evaluate(frame, node.elt)
    frame.memory.names = saved
    if isinstance(node, cst.GeneratorExp):
        return Value(facts.SAME, Kind.RANGE, (element, facts.combine(length, taken)))
    shape = "list" if isinstance(node, cst.ListComp) else "set"
    return frame.allocate(node, Cell(shape, rest=element, length=facts.combine(length, taken)))


def _dict_comprehension(frame: Frame, node: cst.DictComp) -> Value:
    saved = dict(frame.memory.names)
    loop = node.for_in
    iterable = as_view(frame, evaluate(frame, loop.iter))
    cell = Cell("dict")
    outside = frame.rounds
    entries = (items_of(frame, iterable) or constants_of(frame, iterable)) if not loop.inner_for_in else None
    if entries is not None:
        for index, item in enumerate(entries):
            frame.rounds = (*outside, index)
            bind_target(frame, loop.target, item)
            if any(truth(frame, evaluate(frame, test.test)) is False for test in loop.ifs):
                continue
            key = constant_key(evaluate(frame, node.key))
            cell = with_key(cell, key, frame.written(evaluate(frame, node.value), _text_of(key)))
    else:
        _bind_comprehension(frame, loop)
        key = constant_key(evaluate(frame, node.key))
        cell = with_key(cell, key, frame.written(evaluate(frame, node.value), _text_of(key)))
    frame.memory.names = saved
    frame.rounds = outside
    return frame.allocate(node, cell)


def _text_of(key: Any) -> str:
    return key.replace(WILDCARD, "…") if isinstance(key, str) else ""


def _bind_comprehension(frame: Frame, loop: cst.CompFor) -> tuple[facts.Rank, facts.Rank]:
    """Bind the loop variables; the facts of the number of rounds and of the filters."""
    element, length = iterate(frame, evaluate(frame, loop.iter))
    bind_target(frame, loop.target, element)
    taken = facts.SAME
    for test in loop.ifs:
        taken = facts.combine(taken, evaluate(frame, test.test).rank)
        narrow(frame, test.test, True)
    if loop.inner_for_in is not None:
        inner_length, inner_taken = _bind_comprehension(frame, loop.inner_for_in)
        return facts.combine(length, inner_length), facts.combine(taken, inner_taken)
    return length, taken


def iterate(frame: Frame, value: Value) -> tuple[Value, facts.Rank]:
    """An element of an iterable, and whether there are equally many on all ranks."""
    value = frame.engine.settle(value)
    kind = value.kind
    if kind is Kind.RANGE:
        return value.data[0], value.data[1]
    if kind is Kind.LOADER:
        return value.data or UNKNOWN, facts.SAME
    if kind is Kind.TUPLE:
        result: Value = BOTTOM
        for item in value.data:
            result = join(result, item)
        return result, facts.SAME
    if kind is Kind.CELLS:
        frame.consume(value)
        result, length = BOTTOM, facts.SAME
        for cell in frame.memory.cells(value):
            if cell.shape == "dict":
                result = join(result, Value(facts.SAME, Kind.STRING))
            else:
                result = join_elements(result, cell.element())
            length = facts.join(length, cell.length)
        return result, length
    if kind is Kind.INSTANCE and value.data == members.PREPARED:
        return members.BATCH_ELEMENT.but(why=value.why), facts.SAME
    if kind is Kind.MODEL:
        return value, facts.SAME
    if value.rank.differs:
        kept = Kind.NUMBER if kind is Kind.NUMBERS else kind if kind in _KEPT_BY_ELEMENTS else Kind.UNKNOWN
        element = derived(value.rank, kept, value)
        return element, facts.Rank(State.LOCAL, value.rank.origins)
    if value.rank.state is State.SAME and kind is not Kind.INSTANCE:
        return Value(value.rank), facts.SAME
    return UNKNOWN, facts.UNKNOWN


# An element of one of these is of the same kind.
_KEPT_BY_ELEMENTS = frozenset({Kind.TENSOR, Kind.BATCH, Kind.STRING})


class ViewKey(str):
    """A key met in a loop over `d.items()`: an assignment `d[key] = …` in that loop is about that one entry."""

    __slots__ = ("cells",)
    cells: frozenset[Any]


# More entries than this are not walked one by one.
_MAX_ENTRIES = 60


def as_view(frame: Frame, iterable: Value) -> Value:
    """`for key in d` walks the keys as `for key in d.keys()` does."""
    if iterable.kind is Kind.CELLS and all(cell.shape == "dict" for cell in frame.memory.cells(iterable)):
        return Value(facts.SAME, Kind.RANGE, (Value(facts.SAME, Kind.STRING), facts.SAME, (iterable, "keys")))
    return iterable


def items_of(frame: Frame, iterable: Value) -> list[Value] | None:
    """The (key, value) pairs of `d.items()` one by one, when `d` is a dict in sight; None otherwise."""
    if iterable.kind is not Kind.RANGE or len(iterable.data) < 3:
        return None
    source, form = iterable.data[2]
    entries: dict[Any, Value] = {}
    rest: Value | None = None
    for cell in frame.memory.cells(source):
        for key, value in cell.entries.items():
            entries[key] = join(entries[key], value) if key in entries else value
        if cell.rest is not None:
            rest = cell.rest if rest is None else join(rest, cell.rest)
    if len(entries) > _MAX_ENTRIES:
        return None
    frame.consume(source)
    pairs = [_pair(_key_value(key, source), value, form) for key, value in entries.items()]
    if rest is not None:
        pairs.append(_pair(Value(facts.SAME, Kind.STRING, const=REST), rest, form))
    return pairs


# Loops over this many constants at most are run once per constant.
_MAX_CONSTANTS = 8


def constants_of(frame: Frame, iterable: Value) -> list[Value] | None:
    """The items of a list or tuple of constant strings, as in `for split in ("chosen", "rejected")`."""
    items = positions_of(frame, iterable)
    if not items or len(items) > _MAX_CONSTANTS:
        return None
    return list(items) if all(isinstance(item.const, str) for item in items) else None


def _key_value(key: Any, source: Value) -> Value:
    if isinstance(key, str):
        key = ViewKey(key)
        key.cells = source.data
    return Value(facts.SAME, Kind.STRING, const=key)


def _pair(key: Value, value: Value, form: str) -> Value:
    if form == "items":
        return Value(facts.SAME, Kind.TUPLE, (key, value))
    return value if form == "values" else key


# --- assignment -----------------------------------------------------------------------------------------


def bind_target(frame: Frame, target: Any, value: Value) -> None:
    """Assign a value to a name, attribute, subscript or a pattern of them."""
    if isinstance(target, cst.Name):
        if target.value in frame.elsewhere:
            _assign_outside(frame, target.value, value)
        else:
            frame.memory.names[target.value] = value
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(frame, target, value)
    elif isinstance(target, cst.Attribute):
        members.assign_attribute(frame, evaluate(frame, target.value), target, value)
    elif isinstance(target, cst.Subscript):
        _assign_subscript(frame, target, value)
    elif isinstance(target, cst.StarredElement):
        bind_target(frame, target.value, value)


def _assign_outside(frame: Frame, name: str, value: Value) -> None:
    """Assign to a name of an enclosing function, or of the module, which other calls may have assigned as well."""
    scope = frame.outer
    while scope is not None and name not in scope.memory.names:
        scope = scope.outer
    names = scope.memory.names if scope is not None else frame.engine.global_names(frame.module)
    known = names.get(name)
    names[name] = value if known is None or scope is not None else join(known, value)


def _unpack(frame: Frame, target: Any, value: Value) -> None:
    elements = target.elements
    stars = [index for index, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    known = positions_of(frame, value)
    for index, element in enumerate(elements):
        if isinstance(element, cst.StarredElement):
            rest = iterate(frame, value)[0]
            bind_target(frame, element.value, frame.allocate(element, Cell("list", rest=rest)))
        elif known is not None and (not stars or index < stars[0]) and index < len(known):
            bind_target(frame, element.value, known[index])
        elif known is not None and stars and index > stars[0] and len(elements) - index <= len(known):
            bind_target(frame, element.value, known[index - len(elements)])
        else:
            item = iterate(frame, value)[0]
            bind_target(frame, element.value, item)


def positions_of(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple, or of a list whose items are all known; None otherwise."""
    if value.kind is Kind.TUPLE:
        return value.data
    if value.kind is Kind.CELLS and len(value.data) == 1:
        cells = frame.memory.cells(value)
        if cells and cells[0].shape == "list" and cells[0].rest is None:
            return tuple(cells[0].entries.values())
    return None


def _assign_subscript(frame: Frame, target: cst.Subscript, value: Value) -> None:
    container = evaluate(frame, target.value)
    index = _subscript_value(frame, target)
    if container.kind is Kind.CELLS:
        key = constant_key(index)
        stored = frame.is_stored(container)
        is_dict = any(cell.shape == "dict" for cell in frame.memory.cells(container))
        if stored or is_dict:
            value = frame.written(value, _text_of(key))
        if value.kind is Kind.CELLS and stored:
            _write_elements(frame, value, _text_of(key))
        if index.const is MISSING and len(container.data) == 1:
            key = MISSING
        weak = len(container.data) > 1 and not (isinstance(key, ViewKey) and key.cells == container.data)
        frame.update(container, lambda cell: _put(cell, key, value, weak))
    elif container.kind is Kind.BATCH and isinstance(index.const, str) and isinstance(target.value, cst.Name):
        key = constant_key(index)
        promoted = as_dict(frame, container, target.value, target)
        frame.update(promoted, lambda cell: with_key(cell, key, frame.written(value, _text_of(key))))
    elif container.kind in (Kind.TENSOR, Kind.BATCH, Kind.UNKNOWN, Kind.NUMBERS):
        # A buffer holds what was put into any part of it.
        merged = join(container, value) if container.kind is not Kind.UNKNOWN else UNKNOWN
        if container.kind is Kind.TENSOR:
            rank = facts.combine(container.rank, facts.combine(value.rank, index.rank))
            merged = derived(
                facts.nonlinear(rank), Kind.TENSOR, container, value, index, dtype=container.dtype
            )
        rebind(frame, target.value, merged)


def as_dict(frame: Frame, batch: Value, target: Any, node: Any) -> Value:
    """A batch, or a dict of metrics, is about to get more entries: from here on it is a dict in sight."""
    element = derived(batch.rank, Kind.BATCH, batch)
    promoted = frame.allocate(node, Cell("dict", rest=element))
    rebind(frame, target, promoted)
    return promoted


def _write_elements(frame: Frame, value: Value, what: str) -> None:
    """`self._metrics[mode][key] = [v]`: the list's items came into the store by this statement."""

    def mark(cell: Cell) -> Cell:
        entries = {key: frame.written(item, what) for key, item in cell.entries.items()}
        rest = None if cell.rest is None else frame.written(cell.rest, what)
        return Cell(cell.shape, entries, rest, cell.factory, cell.length)

    frame.update(value, mark)


def _put(cell: Cell, key: Any, value: Value, weak: bool) -> Cell:
    if weak:
        old = read_key(cell, key)
        value = value if old is None else join(old, value)
    return with_key(cell, key, value)


def rebind(frame: Frame, target: Any, value: Value) -> None:
    """Give the variable behind an expression a new value, after something changed it in place."""
    if isinstance(target, cst.Name):
        if target.value in frame.memory.names:
            frame.memory.names[target.value] = value
    elif isinstance(target, cst.Attribute):
        owner = evaluate(frame, target.value)
        if owner.kind is Kind.INSTANCE:
            members.assign_attribute(frame, owner, target, value)
    elif isinstance(target, cst.Subscript):
        container = evaluate(frame, target.value)
        if container.kind is Kind.CELLS:
            key = constant_key(_subscript_value(frame, target))
            frame.update(container, lambda cell: _put(cell, key, value, len(container.data) > 1))
        elif container.kind in (Kind.TENSOR, Kind.BATCH):
            rebind(frame, target.value, join(container, value))


# --- attributes and subscripts --------------------------------------------------------------------------


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    return members.read(frame, evaluate(frame, node.value), node.attr.value, node)


def _subscript_value(frame: Frame, node: cst.Subscript) -> Value:
    """The value of what stands between the brackets; a slice or several indices join their parts."""
    elements = node.slice
    if len(elements) == 1 and isinstance(elements[0].slice, cst.Index):
        return evaluate(frame, elements[0].slice.value)
    parts: list[Value] = []
    for element in elements:
        index = element.slice
        if isinstance(index, cst.Index):
            parts.append(evaluate(frame, index.value))
        else:
            parts.extend(
                evaluate(frame, part) for part in (index.lower, index.upper, index.step) if part is not None
            )
    rank = facts.combine_all(part.rank for part in parts)
    return (
        derived(facts.nonlinear(rank), Kind.TUPLE, *parts, data=())
        if parts
        else Value(facts.SAME, Kind.TUPLE, ())
    )


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    return item_of(frame, evaluate(frame, node.value), _subscript_value(frame, node), node)


def item_of(frame: Frame, container: Value, index: Value, node: Any) -> Value:
    """The value of `container[index]`."""
    container = frame.engine.settle(container)
    kind = container.kind
    if kind is Kind.CELLS:
        return _item_of_cells(frame, container, index, node)
    if kind is Kind.TUPLE:
        return _item_of_tuple(frame, container, index, node)
    if kind is Kind.MODEL:
        return container
    if kind is Kind.RANGE:
        return container.data[0]
    if kind is Kind.NUMBERS:
        return derived(
            facts.nonlinear(facts.combine(container.rank, index.rank)), Kind.NUMBER, container, index
        )
    if kind is Kind.BATCH and container.data == members.OUTPUT and index.const == "loss":
        return members.output_attribute(container, "loss")
    if kind is Kind.INSTANCE and isinstance(container.data, str):
        return members.library_item(frame, container, index)
    return tensors.indexed(container, index)


def _is_slice(node: Any) -> bool:
    return isinstance(node, cst.Subscript) and any(
        isinstance(element.slice, cst.Slice) for element in node.slice
    )


def _item_of_cells(frame: Frame, container: Value, index: Value, node: Any) -> Value:
    if _is_slice(node):
        return _sliced(frame, container, index, node)
    key = constant_key(index)
    result: Value = BOTTOM
    missing = False
    for identity in container.data:
        cell = frame.memory.heap.get(identity)
        if cell is None:
            return UNKNOWN
        found = read_key(cell, key)
        if found is None and cell.factory is not None:
            found = _make_missing(frame, identity, key, cell, node)
        if found is not None:
            result = join(result, found)
        elif identity not in frame.class_cells:
            missing = True
    if missing and result is BOTTOM:
        return UNKNOWN
    if result.kind is not Kind.CELLS:
        frame.consume(container)
    if key is not MISSING and result.writes and not frame.is_stored(container):
        # Taken out of a local dict by name: it is this program point's value, not a logged entry any more.
        result = result.but(writes=NO_WRITES)
    if index.rank.differs and not result.rank.differs and result.kind is not Kind.CELLS:
        rank = facts.combine(result.rank, facts.nonlinear(index.rank))
        result = derived(rank, result.kind, index, data=result.data)
    return result


def _make_missing(frame: Frame, identity: Any, key: Any, cell: Cell, node: Any) -> Value:
    """`d[key]` of a defaultdict makes the entry."""
    made = calls.call_factory(frame, cell.factory, (id(node), identity, key if key is not MISSING else None))
    frame.memory.heap[identity] = with_key(cell, key, made)
    if identity in frame.class_cells:
        owner = frame.class_cells[identity]
        frame.touch(identity)
        if made.kind is Kind.CELLS:
            for inner in made.data:
                frame.class_cells[inner] = owner
                frame.touch(inner)
    return made


def _sliced(frame: Frame, container: Value, index: Value, node: Any) -> Value:
    cells = frame.memory.cells(container)
    element: Value = BOTTOM
    for cell in cells:
        element = join(element, cell.element())
    frame.consume(container)
    length = facts.combine_all([index.rank, *(cell.length for cell in cells)])
    return frame.allocate(node, Cell("list", rest=element, length=length))


def _item_of_tuple(frame: Frame, container: Value, index: Value, node: Any) -> Value:
    items = container.data
    if _is_slice(node):
        return _tuple_slice(frame, items, node)
    if isinstance(index.const, int) and -len(items) <= index.const < len(items):
        return items[index.const]
    return iterate(frame, container)[0]


def _tuple_slice(frame: Frame, items: tuple, node: cst.Subscript) -> Value:
    index = node.slice[0].slice
    bounds: list[Any] = []
    for part in (index.lower, index.upper, index.step):  # type: ignore[union-attr]
        const = None if part is None else evaluate(frame, part).const
        if const is not None and not isinstance(const, int):
            return Value(facts.UNKNOWN)
        bounds.append(const)
    return Value(facts.SAME, Kind.TUPLE, items[slice(*bounds)])


# --- operators ------------------------------------------------------------------------------------------

_LINEAR = (cst.Add, cst.Subtract)
_SCALING = (cst.Multiply, cst.Divide)


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    return operate(frame, node.operator, evaluate(frame, node.left), evaluate(frame, node.right), node)


def operate(frame: Frame, operator: Any, left: Value, right: Value, node: Any) -> Value:
    """The value of a binary operation."""
    if isinstance(operator, (cst.Add, cst.AddAssign)):
        joined = _concatenation(frame, left, right, node)
        if joined is not None:
            return joined
    if isinstance(operator, (cst.BitOr, cst.BitOrAssign)) and left.kind is Kind.CELLS:
        return frame.allocate(node, merged_into(frame, merged_into(frame, Cell("dict"), left), right))
    if isinstance(operator, (cst.Multiply, cst.MultiplyAssign)):
        for value in (left, right):
            if value.kind is Kind.CELLS:
                element, length = iterate(frame, value)
                return frame.allocate(node, Cell("list", rest=element, length=length))
    if isinstance(operator, (*_LINEAR, cst.AddAssign, cst.SubtractAssign)):
        rank = facts.combine_linear(left.rank, right.rank)
    elif isinstance(operator, (*_SCALING, cst.MultiplyAssign, cst.DivideAssign)):
        rank = facts.combine_scaling(left.rank, right.rank)
        if isinstance(operator, (cst.Divide, cst.DivideAssign)) and right.rank.state is State.PARTIAL:
            rank = facts.Rank(State.LOCAL, left.rank.origins | right.rank.origins)
    else:
        rank = facts.nonlinear(facts.combine(left.rank, right.rank))
    return tensors.arithmetic(rank, left, right, isinstance(operator, (cst.Divide, cst.DivideAssign)))


def _concatenation(frame: Frame, left: Value, right: Value, node: Any) -> Value | None:
    if left.kind is right.kind is Kind.STRING:
        return _add_texts(left, right)
    if left.kind is right.kind is Kind.TUPLE:
        return Value(facts.SAME, Kind.TUPLE, left.data + right.data)
    if Kind.CELLS in (left.kind, right.kind):
        (first, one), (second, two) = iterate(frame, left), iterate(frame, right)
        return frame.allocate(node, Cell("list", rest=join(first, second), length=facts.combine(one, two)))
    return None


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    value = evaluate(frame, node.expression)
    if isinstance(node.operator, cst.Not):
        known = truth(frame, value)
        rank = facts.nonlinear(value.rank)
        result = derived(rank, Kind.NUMBER, value, scalar=True, dtype="bool")
        return result if known is None else result.but(const=_negated(value.const, known))
    if isinstance(node.operator, cst.Minus):
        const = -value.const if type(value.const) in (int, float) else MISSING
        linear = value.rank.state is not State.PARTIAL or value.rank.how in facts.ADDITIVE
        rank = value.rank if linear else facts.nonlinear(value.rank)
        return value.but(rank=rank, const=const)
    return value.but(rank=facts.nonlinear(value.rank), const=MISSING)


def _negated(const: Any, known: bool) -> Any:
    from trl_lint.analysis.values import WORLD_FALSE, WORLD_TRUE

    if isinstance(const, World):
        return WORLD_FALSE if known else WORLD_TRUE
    return not known


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    """`and`, `or`: the right side counts only where the left one lets it."""
    left = evaluate(frame, node.left)
    known = truth(frame, left)
    is_and = isinstance(node.operator, cst.And)
    if known is not None and known is not is_and:
        return left
    saved = frame.memory.names.copy()
    narrow(frame, node.left, is_and)
    right = evaluate(frame, node.right)
    frame.memory.names = saved
    if known is not None:
        return right
    right_known = truth(frame, right)
    if right_known is not None and right_known is not is_and and isinstance(right.const, World):
        return right
    return join(left, right, left.rank).but(const=MISSING)


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    from trl_lint.analysis.conditions import compare

    return compare(frame, evaluate(frame, node.left), node, evaluate)


def _conditional(frame: Frame, node: cst.IfExp) -> Value:
    test = evaluate(frame, node.test)
    known = truth(frame, test)
    saved = frame.memory.names
    results: list[Value] = []
    for arm, taken in ((node.body, True), (node.orelse, False)):
        if known is not None and known is not taken:
            continue
        frame.memory.names = saved.copy()
        narrow(frame, node.test, taken)
        results.append(evaluate(frame, arm))
    frame.memory.names = saved
    return results[0] if len(results) == 1 else join(results[0], results[1], test.rank)


def _named(frame: Frame, node: cst.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    bind_target(frame, node.target, value)
    return value


def _lambda(frame: Frame, node: cst.Lambda) -> Value:
    return Value(facts.SAME, Kind.FUNCTION, frame.engine.function(node, frame))


def _yield(frame: Frame, node: cst.Yield) -> Value:
    value: Value = NONE
    if isinstance(node.value, cst.From):
        value = iterate(frame, evaluate(frame, node.value.item))[0]
    elif node.value is not None:
        value = evaluate(frame, node.value)
    frame.yielded = value if frame.yielded is None else join(frame.yielded, value)
    return UNKNOWN


def _await(frame: Frame, node: cst.Await) -> Value:
    return evaluate(frame, node.expression)


def _call(frame: Frame, node: cst.Call) -> Value:
    return calls.call(frame, node)


HANDLERS = {
    cst.Attribute: _attribute,
    cst.Await: _await,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Call: _call,
    cst.Comparison: _comparison,
    cst.ConcatenatedString: _concatenated,
    cst.Dict: _dict,
    cst.DictComp: _dict_comprehension,
    cst.Float: _float,
    cst.FormattedString: _formatted,
    cst.GeneratorExp: _comprehension,
    cst.IfExp: _conditional,
    cst.Integer: _integer,
    cst.Lambda: _lambda,
    cst.List: _list,
    cst.ListComp: _comprehension,
    cst.Name: _name,
    cst.NamedExpr: _named,
    cst.Set: _list,
    cst.SetComp: _comprehension,
    cst.SimpleString: _string,
    cst.Subscript: _subscript,
    cst.Tuple: _tuple,
    cst.UnaryOperation: _unary,
    cst.Yield: _yield,
}

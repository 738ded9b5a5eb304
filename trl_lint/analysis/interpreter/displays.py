"""Tuple, list, set and dict displays, and comprehensions: containers with known entries.

For example:

    {"loss": loss, **extra}              a dict with the entry `loss` and the entries of `extra`
    [f(x) for x in batch if x.ok]        as many elements as pass the filter: its length differs between ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import narrow, truth
from trl_lint.analysis.interpreter.conditions.wrapping_tests import tests_presence
from trl_lint.analysis.interpreter.objects import aliases, assignment, evaluated_batches, present_on_some
from trl_lint.analysis.program.idioms.unpacked_turns import turns
from trl_lint.analysis.program.syntax import used_names
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import dealt_lengths, drawn_places, own_shares
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import Cell, with_key
from trl_lint.domain.kinds import IterableValue, NumberValue, TupleValue
from trl_lint.domain.model_roles import may_be_model
from trl_lint.domain.values import Kind, Value


def tuple_display(frame: Frame, node: cst.Tuple) -> Value:
    items: list[Value] = []
    for element in node.elements:
        value = frame.engine.evaluate(frame, element.value)
        if isinstance(element, cst.StarredElement):
            if not isinstance(value, TupleValue):
                return _list_of(frame, node, [containers.iterate(frame, value)[0]])
            items.extend(value.items)
        else:
            items.append(present_on_some.once_kept(frame, value, element.value))
    return containers.tuple_of(frame, items, node)


def list_display(frame: Frame, node: cst.List | cst.Set) -> Value:
    values: list[Value] = []
    exact = True
    for element in node.elements:
        value = frame.engine.evaluate(frame, element.value)
        if isinstance(element, cst.StarredElement):
            value, exact = containers.iterate(frame, value)[0], False
        values.append(present_on_some.once_kept(frame, value, element.value))
    if exact and isinstance(node, cst.List):
        return frame.allocate(node, Cell("list", dict(enumerate(values))))
    if exact and all(type(each.const) in (int, str) for each in values):
        return frame.allocate(node, Cell("set", {each.const: each for each in values}))
    return _list_of(frame, node, values, "list" if isinstance(node, cst.List) else "set")


def _list_of(frame: Frame, node: cst.CSTNode, values: list[Value], shape: str = "list") -> Value:
    return frame.allocate(node, Cell(shape, rest=containers.one_among(values)))


def dict_display(frame: Frame, node: cst.Dict) -> Value:
    cell = Cell("dict")
    for element in node.elements:
        value = frame.engine.evaluate(frame, element.value)
        if type(element) is cst.DictElement:
            cell = _with_entry(frame, cell, element.key, element.value, value)
        else:
            cell = containers.merged_into(frame, cell, value)
    return frame.allocate(node, cell)


def _with_entry(
    frame: Frame, cell: Cell, key: cst.BaseExpression, expression: cst.BaseExpression, value: Value | None = None
) -> Cell:
    """The cell with the entry that a display or a comprehension writes. value: that of `expression`, if known."""
    name = frame.engine.evaluate(frame, key)
    if value is None:
        value = frame.engine.evaluate(frame, expression)
    constant = containers.constant_key(name)
    return with_key(cell, constant, frame.written(value, containers.key_text(constant), expression), name.rank)


def comprehension(frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    """A list, set or generator comprehension: one element that represents all.

    Over models and names (`int(os.environ[name]) for name in ("RANK", "WORLD_SIZE")`) each element is kept, and so is
    each that is unpacked: `losses, scores = [Meter() for _ in range(2)]`.
    """
    saved = dict(frame.memory.names)
    iterable = _iterated(frame, node.for_in)
    elements = _unrolled_elements(frame, node, iterable)
    if elements is not None:
        frame.memory.names = saved
        if isinstance(node, cst.GeneratorExp):
            return TupleValue(ranks.SAME, tuple(elements))
        return frame.allocate(node, Cell("list", dict(enumerate(elements))))
    length, selected = _bind_comprehension(frame, node.for_in, iterable)
    if length != ranks.PER_RANK or not _keeps_all(node):
        length = dealt_lengths.of_turns(frame, node, length, selected) or ranks.filtered(length, selected)
    before = aliases.bound(frame, node.for_in.target)
    element = _picked(frame, node, frame.engine.evaluate(frame, node.elt), selected)
    element = drawn_places.made_of_each(frame, node, iterable, element)
    agreed = aliases.became_uniform(node.elt, before, frame.memory.names)
    frame.memory.names = saved
    aliases.write_back_all(frame, node.for_in.iter, iterable, agreed)
    if isinstance(node, cst.GeneratorExp):
        created: Value = IterableValue(ranks.SAME, element, length)
    else:
        shape = "list" if isinstance(node, cst.ListComp) else "set"
        created = frame.allocate(node, Cell(shape, rest=element, length=length))
    for refine in frame.domains.comprehension:
        created = refine(frame, selected, created)
    return created


def _iterated(frame: Frame, loop: cst.CompFor) -> Value:
    """What a comprehension goes over: that fails for None."""
    return present_on_some.used(frame, loop.iter, frame.engine.evaluate(frame, loop.iter))


def _picked(
    frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp, element: Value, selected: ranks.Rank
) -> Value:
    """An element of those that pass a test of the rank, such as `i for i, part in enumerate(parts) if rank in part`.

    Each rank has others, even if all have the same list before the test.
    """
    if not selected.differs or selected.origins != ranks.Origin.RANK or element.rank.differs:
        return element
    is_plain = element.kind in (Kind.NUMBER, Kind.STRING) and element.rank.state is ranks.State.SAME
    in_turn = element.kind is Kind.UNKNOWN and any(own_shares.is_turn(frame, each.test) for each in node.for_in.ifs)
    if not (is_plain or in_turn):
        return element
    tests = [each.test for each in node.for_in.ifs if not used_names(node.for_in.target).isdisjoint(used_names(each))]
    if not tests:
        return element
    step = element.provenance or frame.step(tests[0], "which elements pass `{}` depends on the rank")
    return element.replace(rank=ranks.RANK_LOCAL, const=MISSING, provenance=step)


def _keeps_all(node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> bool:
    """Whether a comprehension has an element for each item: `[None for _ in range(world_size)]`."""
    return not isinstance(node, cst.SetComp) and not node.for_in.ifs and node.for_in.inner_for_in is None


def _unrolled_elements(
    frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp, iterable: Value
) -> list[Value] | None:
    """The elements of a comprehension over a few models or names, one per item, or of one over a range that is
    unpacked; None for all other comprehensions.

    An item for which the outcome of a presence test is unknown counts as present.
    """
    loop = node.for_in
    if isinstance(node, cst.SetComp) or loop.inner_for_in is not None:
        return None
    numbers = _numbers_of_turns(frame, node)
    items = numbers or containers.positions_of(frame, iterable)
    if items is None or len(items) > _MOST:
        return None
    if not (numbers or any(map(may_be_model, items)) or all(map(_is_name, items))):
        return None
    results: list[Value] = []
    outside = frame.unroll_index
    for index, item in enumerate(items):
        frame.unroll_index = (*outside, index)
        assignment.bind_target(frame, loop.target, item)
        tests = [truth(frame, frame.engine.evaluate(frame, each.test)) for each in loop.ifs]
        if False in tests:
            continue
        if any(known is None and not tests_presence(each.test) for known, each in zip(tests, loop.ifs, strict=True)):
            frame.unroll_index = outside
            return None
        for each in loop.ifs:
            present_on_some.note_presence(frame, each.test)
        results.append(frame.engine.evaluate(frame, node.elt))
    frame.unroll_index = outside
    return results


_MOST = 8


def _is_name(value: Value) -> bool:
    return isinstance(value.const, str)


def _numbers_of_turns(frame: Frame, node: cst.CSTNode) -> tuple[Value, ...]:
    """The numbers that a comprehension goes over whose elements the current statement unpacks."""
    is_unpacked = getattr(frame.statement, "value", None) is node
    numbers = range(turns(frame.statement)) if is_unpacked else ()
    return tuple(NumberValue(ranks.SAME, const=each, scalar=True, dtype="int") for each in numbers)


def dict_comprehension(frame: Frame, node: cst.DictComp) -> Value:
    saved = dict(frame.memory.names)
    loop = node.for_in
    iterable = containers.as_view(frame, _iterated(frame, loop), loop.iter)
    cell = Cell("dict")
    outside, unrolled = frame.unroll_index, frame.unrolled
    entries = (
        (containers.items_of(frame, iterable) or containers.items_to_unroll(frame, iterable))
        if not loop.inner_for_in
        else None
    )
    if entries is not None and frame.may_unroll(len(entries)):
        frame.unrolled *= len(entries)
        for index, item in enumerate(entries):
            frame.unroll_index = (*outside, index)
            assignment.bind_target(frame, loop.target, item)
            if any(truth(frame, frame.engine.evaluate(frame, test.test)) is False for test in loop.ifs):
                continue
            for test in loop.ifs:
                present_on_some.note_presence(frame, test.test)
            cell = _with_entry(frame, cell, node.key, node.value)
    else:
        _bind_comprehension(frame, loop, _iterated(frame, loop))
        cell = _with_entry(frame, cell, node.key, node.value)
    frame.memory.names = saved
    frame.unroll_index, frame.unrolled = outside, unrolled
    value: Value = frame.allocate(node, cell)
    for refine in frame.domains.dict_comprehension:
        value = refine(frame, node, value)
    return value


def _bind_comprehension(frame: Frame, loop: cst.CompFor, iterable: Value) -> tuple[ranks.Rank, ranks.Rank]:
    """Bind the loop variables. Returns the ranks of the number of iterations and of the filters."""
    element, length = containers.iterate(frame, containers.as_columns(frame, iterable, loop.iter))
    if not frame.memory.control.grad:
        element = evaluated_batches.marked(frame, loop, loop.iter, element)
    assignment.bind_target(frame, loop.target, element)
    selected = ranks.SAME
    for test in loop.ifs:
        selected = ranks.combine(selected, frame.engine.evaluate(frame, test.test).rank)
        narrow(frame, test.test, True)
        present_on_some.note_presence(frame, test.test)
    if loop.inner_for_in is not None:
        inner = loop.inner_for_in
        inner_length, inner_selected = _bind_comprehension(frame, inner, _iterated(frame, inner))
        return ranks.combine(length, inner_length), ranks.combine(selected, inner_selected)
    return length, selected

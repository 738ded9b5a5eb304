"""Subscripts: the keys, entries and elements of containers, and the value of reading them."""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.interpreter.objects import (
    chosen_names,
    environment_variables,
    model_outputs,
    named_ranks,
    picked_lists,
    sequences,
)
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.idioms import even_shares
from trl_lint.analysis.program.syntax import LOOPS, ancestors, assignments, last_name, names_in, parts_of_target
from trl_lint.analysis.state import own_dicts
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.containers import constant_key, entry_at, iterate
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import dealt_lengths, own_shares
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks
from trl_lint.domain.choices import NamesOfFile, WithOptions
from trl_lint.domain.constants import MISSING
from trl_lint.domain.derived import derived, of_drawn_table
from trl_lint.domain.heap import Cell, with_key
from trl_lint.domain.joins import join
from trl_lint.domain.key_beginnings import KeyBeginning
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    ContainerValue,
    Identity,
    InstanceValue,
    IterableValue,
    LibraryName,
    ModelValue,
    NoneValue,
    NumberListValue,
    TupleValue,
    in_role,
    library_name_of,
)
from trl_lint.domain.ranks import DRAWN, Origin, State
from trl_lint.domain.values import BOTTOM, NO_WRITES, SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge import datasets, heuristics
from trl_lint.knowledge.datasets import DATASET
from trl_lint.knowledge.heuristics import RANK_FIELD
from trl_lint.knowledge.launcher_variables import ENVIRON

# Kinds of what may be a list: nothing is known of it, or it comes from a file that was not read.
_MAY_BE_ROWS = frozenset({Kind.MODULE, Kind.UNKNOWN})
# The kinds of entries of which it matters which one a key reads: functions and models are used as what they all are.
_CHOSEN_DATA = frozenset({Kind.NUMBER, Kind.STRING, Kind.UNKNOWN})
# What all ranks find alike if they look at the same moment.
_MAY_AGREE = Origin.IO | Origin.CLOCK


def item_of(frame: Frame, container: Value, index: Value, node: cst.CSTNode) -> Value:
    """The value of `container[index]`."""
    container = own_dicts.with_entries(frame, frame.engine.with_contents(frame, container))
    match container:
        case ContainerValue():
            item = _item_of_cells(frame, container, index, node)
            return UNKNOWN if _is_placeholder(index, item) else item
        case TupleValue():
            return _item_of_tuple(frame, container, index, node)
        case NoneValue():
            return UNKNOWN  # whoever gets past here has been given something else: None has no items
        case ModelValue():
            if isinstance(node, cst.Subscript) and (index.kind is Kind.NUMBER or is_slice(node)):
                return sequences.used(frame, container, "__getitem__", node.value)
            return container
        case IterableValue():
            return container.element
        case NumberListValue():
            return derived(ranks.nonlinear(ranks.combine(container.rank, index.rank)), Kind.NUMBER, container, index)
        case BatchValue():
            return _item_of_batch(frame, container, index)
        case ProjectInstance(cls=cls) if (method := cls.find("__getitem__")) is not None:
            return frame.engine.call(frame, method, Arguments([index]), node, container)
        case ProjectInstance(cls=cls) if own_dicts.is_dict(cls):
            return UNKNOWN
        case NamesOfFile():
            return chosen_names.named(container.paths, index)
        case LibraryName(name="sys.modules") if (module := chosen_names.this_module(frame, index)) is not None:
            return module
        case InstanceValue() if not isinstance(container, ProjectInstance):
            return _library_item(frame, container, index, node)
    number = named_ranks.in_settings(frame, container, index, node)
    if number is not None:
        return number
    item = own_shares.sliced(frame, node, index, of_drawn_table(container, tensors.indexed(container, index)))
    if _is_placeholder(index, item) or _is_named_apart(container, index):
        return UNKNOWN
    if container.kind in _MAY_BE_ROWS and item.rank.differs and even_shares.is_even(frame.root, node):
        return frame.allocate(node, Cell("list", rest=item))
    return dealt_lengths.of_item(frame, node, index, item)


def _library_item(frame: Frame, container: Value, index: Value, node: cst.CSTNode) -> Value:
    """`x[key]` of a library's object: the environment holds the rank and the world size.

    A slice of a data set has rows in the order that a rank has drawn.
    """
    if library_name_of(container) == ENVIRON:
        return environment_variables.required(frame, index, node)
    if datasets.is_dataset(container) and (index.kind is Kind.STRING or heuristics.SPLIT.fits(_name_of_key(node))):
        return DATASET.with_facts_of(container) if container.rank.state is State.UNKNOWN else DATASET
    if datasets.is_dataset(container) and container.rank == DRAWN and _is_slice(node):
        return Value(DRAWN, provenance=container.provenance)
    return SAME if container.rank.state is State.SAME else UNKNOWN


def _name_of_key(node: cst.CSTNode) -> str:
    """The last name in the key of a subscript: `split` in `data[args.split]`; "" for other expressions."""
    element = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    return last_name(element.value) if isinstance(element, cst.Index) else ""


def _is_slice(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Slice)


def _item_of_batch(frame: Frame, batch: BatchValue, index: Value) -> Value:
    if batch.role is BatchRole.FIELD and isinstance(index.const, int):
        # One entry of a field: collators also add values that are the same on all ranks (a count, a flag).
        return UNKNOWN
    if batch.role is BatchRole.WHOLE and isinstance(index.const, str):
        return in_role(tensors.indexed(batch, index), BatchRole.FIELD)
    entry = model_outputs.entry(frame, batch, index.const) if batch.role is BatchRole.OUTPUT else None
    return tensors.indexed(batch, index) if entry is None else entry


def is_slice(node: cst.CSTNode) -> bool:
    """Whether it takes a part of something, and no single item: `rows[:2]`, `images[:, 0::2]`."""
    return isinstance(node, cst.Subscript) and any(isinstance(element.slice, cst.Slice) for element in node.slice)


def _item_of_cells(frame: Frame, container: ContainerValue, index: Value, node: cst.CSTNode) -> Value:
    if is_slice(node):
        return _sliced(frame, container, index, node)
    key = constant_key(index)
    result: Value = BOTTOM
    missing = False
    for identity in container.identities:
        cell = frame.memory.heap.get(identity)
        if cell is None:
            return UNKNOWN
        found = entry_of(cell, index)
        if found is None and cell.factory is not None:
            found = _create_missing(frame, identity, index, cell, cell.factory, node)
        if found is not None:
            result = join(result, found)
        elif (owner := frame.objects.class_cells.get(identity)) is None or owner.origin.state != "running":
            missing = True  # else the methods of the class may still fill it
    if missing and result is BOTTOM:
        return UNKNOWN
    if result.kind is not Kind.CONTAINER:
        frame.consume(container)
    result = by_name(frame, container, key, result)
    if key is MISSING and (is_of_some_entry(frame, container, index) or is_of_any_entry(frame, index, result, node)):
        return result.replace(rank=ranks.UNKNOWN)
    if key is MISSING and index.rank.is_by_rank:
        result = picked_lists.own(frame, node, result, partial(chosen_by, index))
    return chosen_by(index, result)


def entry_of(cell: Cell, key: Value) -> Value | None:
    """What a container holds at a key, if it may hold anything there."""
    return key.entry_of(cell) if isinstance(key, KeyBeginning) else entry_at(cell, constant_key(key))


def _is_placeholder(index: Value, item: Value) -> bool:
    """Whether an entry named like the rank is what stands for it until the process group is started: `{"rank": 0}`.

    Source: https://github.com/FlagAI-Open/FlagAI (examples/h3t/bmtrain/global_var.py)
    """
    return item.rank.state is State.SAME and isinstance(index.const, str) and RANK_FIELD.fits(index.const)


def _is_named_apart(table: Value, key: Value) -> bool:
    """Whether an entry is read by a name that ranks may choose apart: each may have named the same entry so before.

    name = "first" if self.is_first else f"{epoch}"
    table = pandas.DataFrame({name: scores})
    table[name]                             the same on all ranks if `scores` is
    """
    return table.rank.state is State.UNKNOWN and key.kind is Kind.STRING and key.rank.differs


def by_name(frame: Frame, container: ContainerValue, key: object, result: Value) -> Value:
    """An entry that is read by its key (MISSING for none): it is not a logged entry, but the value at the read.

    On an object, metrics keep their writes; batches do not, since their fields are no metrics.
    """
    if key is MISSING or not result.writes:
        return result
    return as_field(result) if frame.is_stored(container) else result.replace(writes=NO_WRITES)


def as_field(value: Value) -> Value:
    """A value that is a part of an object: tensors are its data, not entries of a log that it has been put into."""
    is_data = value.kind in (Kind.TENSOR, Kind.BATCH, Kind.UNKNOWN) and not value.scalar
    return value.replace(writes=NO_WRITES) if is_data and value.writes else value


def chosen_by(index: Value, result: Value) -> Value:
    """An item chosen by an index: it differs between ranks if the index is rank-local, and so do its parts.

    Entries that only a rank's disk makes differ may be the same on all ranks, but not those at different places.
    """
    if not index.rank.differs or result.rank.origins & ~_MAY_AGREE or result.kind is Kind.CONTAINER:
        return result
    if isinstance(result, WithOptions):
        return UNKNOWN  # each rank has another one
    if isinstance(result, TupleValue):
        result = result.with_parts(tuple(chosen_by(index, each) for each in result.items))
    rank = ranks.combine(result.rank, ranks.nonlinear(index.rank))
    return result.with_facts_of(derived(rank, result.kind, index))


def is_of_some_entry(frame: Frame, container: ContainerValue, key: Value) -> bool:
    """Whether it is unknown which entry of a dict a key reads, and only some of the entries differ between ranks."""
    if key.rank != ranks.SETTING and key.rank.state is not State.UNKNOWN:
        return False
    cells = frame.memory.cells(container)
    found = {value.rank.differs for cell in cells if cell.shape == "dict" for value in cell.values()}
    return len(found) > 1


def is_of_any_entry(frame: Frame, key: Value, result: Value, node: cst.CSTNode) -> bool:
    """Whether another entry of a container is read in each turn of a loop, and it is not known on which ranks which.

    for samples, targets in loader:
        place = number_of(targets)
        names[place]                  it may be the number of this rank's sample, and another one on each rank

    A parameter names the same entry throughout, as an option does: `URLS[name]`.
    """
    is_unknown = key.rank.state is State.UNKNOWN and key.rank != ranks.SETTING
    if not (is_unknown and result.rank.is_uniform and result.kind in _CHOSEN_DATA):
        return False
    parts = node.slice if isinstance(node, cst.Subscript) else node.args if isinstance(node, cst.Call) else ()
    read = {name for part in parts for name in names_in(part)}
    return not read.isdisjoint(_bound_in_turns(frame.root, node))


def _bound_in_turns(root: cst.CSTNode, node: cst.CSTNode) -> set[str]:
    """The names that each turn of the loops around a node binds again."""
    loops = [each for each in ancestors(root, node) if isinstance(each, LOOPS)]
    targets = [target for loop in loops for target, _ in assignments(loop)]
    targets += [loop.target for loop in loops if isinstance(loop, cst.For)]
    parts = (part for target in targets for part in parts_of_target(target))
    return {part.value for part in parts if isinstance(part, cst.Name)}


def _create_missing(
    frame: Frame, identity: Identity, index: Value, cell: Cell, factory: Value, node: cst.CSTNode
) -> Value:
    """Create the entry that `d[key]` of a defaultdict reads."""
    key = constant_key(index)
    place = (id(node), identity, key if key is not MISSING else None)
    created = frame.engine.call_factory(frame, factory, place, node)
    frame.memory.heap[identity] = with_key(cell, key, created, index.rank)
    if identity in frame.objects.class_cells:
        receiver = frame.objects.class_cells[identity]
        frame.touch(identity)
        for inner in created.identities:
            frame.objects.class_cells[inner] = receiver
            frame.touch(inner)
    return created


def _sliced(frame: Frame, container: ContainerValue, index: Value, node: cst.CSTNode) -> Value:
    cells = frame.memory.cells(container)
    element: Value = BOTTOM
    for cell in cells:
        element = join(element, cell.element().as_present())
    if own_shares.starts_apart(frame, node):
        element = chosen_by(index, element)
    frame.consume(container)
    length = ranks.combine_all([index.rank, *(cell.length for cell in cells)])
    if _ends_where_agreed(frame, node):
        length = ranks.UNKNOWN
    if length.differs and even_shares.is_even(frame.root, node):
        length = ranks.combine_all(cell.length for cell in cells)
    elif length.is_by_rank and dealt_lengths.is_dealt(frame, node):
        length = ranks.DEALT_BY_RANK
    return frame.allocate(node, Cell("list", rest=element, length=length))


def _ends_where_agreed(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a slice `rows[:fewest]` ends at a reduced number: longer lists are cut to it on all ranks."""
    index = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    end = frame.known_value(index.upper) if isinstance(index, cst.Slice) and index.upper else None
    return end is not None and end.rank == ranks.REDUCED


def _item_of_tuple(frame: Frame, container: TupleValue, index: Value, node: cst.CSTNode) -> Value:
    items = container.items
    if isinstance(node, cst.Subscript) and is_slice(node):
        return _tuple_slice(frame, items, node)
    if isinstance(index.const, int) and -len(items) <= index.const < len(items):
        return items[index.const]
    return chosen_by(index, iterate(frame, container)[0])


def _tuple_slice(frame: Frame, items: tuple[Value, ...], node: cst.Subscript) -> Value:
    index = node.slice[0].slice
    if not isinstance(index, cst.Slice):  # `t[0, 1:]`, which tuples do not support
        return Value(ranks.UNKNOWN)
    bounds: list[int | None] = []
    for part in (index.lower, index.upper, index.step):
        const = None if part is None else frame.engine.evaluate(frame, part).const
        if const is not None and not isinstance(const, int):
            return Value(ranks.UNKNOWN)
        bounds.append(const)
    return TupleValue(ranks.SAME, items[slice(*bounds)])


def subscript_value(frame: Frame, node: cst.Subscript) -> Value:
    """The value between the brackets; a slice or several indices are combined from their parts."""
    elements = node.slice
    if len(elements) == 1 and isinstance(elements[0].slice, cst.Index):
        return frame.engine.evaluate(frame, elements[0].slice.value)
    parts: list[Value] = []
    for element in elements:
        index = element.slice
        if type(index) is cst.Index:
            parts.append(frame.engine.evaluate(frame, index.value))
        elif type(index) is cst.Slice:
            parts.extend(
                frame.engine.evaluate(frame, part)
                for part in (index.lower, index.upper, index.step)
                if part is not None
            )
    rank = ranks.combine_all(part.rank for part in parts)
    return derived(ranks.nonlinear(rank), Kind.UNKNOWN, *parts).as_a(TupleValue) if parts else TupleValue(ranks.SAME)

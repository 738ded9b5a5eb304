"""Containers on the heap: their items, keys and lengths, as loops and transfers need them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import reduce

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.definitions.own_loaders import LOADER_ITSELF, is_loader
from trl_lint.analysis.program.idioms.mappings import read_by_key
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state import own_dicts, records, settings
from trl_lint.analysis.state.frame import Frame, Place
from trl_lint.domain import ranks, shapes
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.constants import MISSING
from trl_lint.domain.derived import derived
from trl_lint.domain.gradient_paths import among
from trl_lint.domain.heap import REST, WILDCARD, Cell, read_key, with_key
from trl_lint.domain.joins import any_of, join, join_all, join_elements
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    ContainerValue,
    Identity,
    InstanceValue,
    IterableValue,
    LoaderValue,
    ModelValue,
    PreparedObject,
    StringValue,
    TupleValue,
    is_none,
    role_of,
    shape_of,
)
from trl_lint.domain.model_roles import may_be_model
from trl_lint.domain.provenance import FullBatches, Prepared, inside_full_batch
from trl_lint.domain.ranks import RANK_LOCAL, Origin, Rank, State
from trl_lint.domain.shapes import RAGGED
from trl_lint.domain.small_tuples import is_small, items_or_itself
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import datasets
from trl_lint.knowledge.schema import PREPARED_BATCH


def merged_into(frame: Frame, cell: Cell, other: Value) -> Cell:
    """The cell after `update(other)`: key by key if the other's keys are known."""
    if isinstance(other, ContainerValue):
        for theirs in frame.memory.cells(other):
            for key, value in theirs.entries.items():
                cell = with_key(cell, key, value, theirs.naming)
            if theirs.rest is not None:
                cell = with_key(cell, MISSING, theirs.rest, theirs.naming)
        return cell
    if other.kind is Kind.NONE:
        return cell
    value = Value(ranks.SETTING) if other.rank == ranks.SETTING else UNKNOWN
    if other.rank.differs or other.kind is Kind.BATCH:
        value = other.as_a(BatchValue)
    return with_key(cell, MISSING, frame.written(value, ""))


def entry_at(cell: Cell, key: Hashable) -> Value | None:
    """What a container holds at a key; of settings that were put into it, not what the rank is called."""
    found = read_key(cell, key)
    return found if found is None or not isinstance(key, str) else settings.unless_rank_name(key, found)


def part_of_dict(frame: Frame, receiver: ContainerValue, name: str) -> Value | None:
    """`outputs.loss` of a model's output with assigned entries; a plain dict has no such attributes."""
    cells = frame.memory.cells(receiver)
    found = [read_key(cell, name) for cell in cells if cell.shape == "dict" and not hasattr(dict, name)]
    known = [value for value in found if value is not None]
    return join_all(known) if known and len(known) == len(cells) else None


def tuple_of(frame: Frame, items: Sequence[Value], node: Place) -> Value:
    """A tuple of these items; a list of their join if they are too many."""
    if is_small(items):
        return TupleValue(ranks.SAME, tuple(items))
    return frame.allocate(node, Cell("list", rest=join_all(items)))


def map_items(
    frame: Frame,
    value: Value,
    node: cst.CSTNode,
    change: Callable[[Value, Place], Value],
    rebuild: Callable[[Cell, dict[Hashable, Value], Value | None], Cell],
) -> Value:
    """A copy of a value, with `change(item, place)` applied to the items of its tuples and known containers.

    rebuild: returns the copy of a container, given its entries and rest. A container that is reached twice is copied
    once, as it may contain itself.
    """
    copies: dict[frozenset[Identity], Value] = {}

    def copy(value: Value, place: Place) -> Value:
        if isinstance(value, TupleValue):
            return TupleValue(ranks.SAME, tuple(copy(item, place) for item in value.items))
        cells = frame.memory.cells(value)
        if len(cells) != 1:
            return change(value, place)
        if value.identities not in copies:
            cell = cells[0]
            copies[value.identities] = frame.allocate(place, rebuild(cell, {}, None))
            entries = {key: copy(item, (place, key)) for key, item in cell.entries.items()}
            rest = None if cell.rest is None else copy(cell.rest, (place, None))
            frame.allocate(place, rebuild(cell, entries, rest))
        return copies[value.identities]

    return copy(value, node)


def constant_key(value: Value) -> Hashable:
    """The value of a subscript as a key of a cell: a constant, or MISSING."""
    const: Hashable = value.const
    if const is REST or (const is not MISSING and isinstance(const, (str, int, float, bool, type(None)))):
        return const if const != WILDCARD else _UNKNOWN_KEY
    return _UNKNOWN_KEY


_UNKNOWN_KEY: Hashable = MISSING


def key_text(key: Hashable) -> str:
    return key.replace(WILDCARD, "…") if isinstance(key, str) else ""


def iterate(frame: Frame, value: Value) -> tuple[Value, ranks.Rank]:
    """An element of an iterable, and whether its length is the same on all ranks."""
    value = own_dicts.with_entries(frame, frame.engine.with_contents(frame, value))
    match value:
        case IterableValue():
            return value.element, value.length
        case LoaderValue():
            return value.batches
        case TupleValue():
            return any_of(value.items), ranks.SAME
        case ContainerValue():
            element, length = _iterate_container(frame, value)
            return _as_one_of_several(element), length
        case PreparedObject():
            before = value.provenance
            loader = before.as_loader if isinstance(before, Prepared) else before
            return PREPARED_BATCH.replace(provenance=loader), ranks.SAME
        case ModelValue():
            return value, ranks.SAME
        case OneOfProjectObjects(options=options):
            elements, lengths = zip(*(iterate(frame, each) for each in options), strict=True)
            return join_all(elements), join_all([Value(each) for each in lengths]).rank
        case ProjectInstance(cls=cls) if is_loader(cls):
            itself = frame.read_attribute(cls, LOADER_ITSELF)
            return iterate(frame, itself) if isinstance(itself, LoaderValue) else (UNKNOWN, ranks.UNKNOWN)
    return _iterate_other(frame, value)


def item_of(frame: Frame, value: Value) -> Value:
    """One element of an iterable; which one is not known, so it may be one that no rank lacks."""
    return iterate(frame, value)[0].as_present()


def _iterate_other(frame: Frame, value: Value) -> tuple[Value, ranks.Rank]:
    """An element of something that is no container or loader, such as a tensor or a record."""
    items = records.items_of(frame, value)
    if items is not None:
        return join_all(items), ranks.SAME
    if isinstance(value, ProjectInstance) and is_never_iterable(value.cls):
        return BOTTOM, ranks.SAME
    if value.rank.differs:
        element = derived(ranks.of_elements(value.rank), _KIND_OF_ELEMENTS.get(value.kind, Kind.UNKNOWN), value)
        element = element.replace(provenance=inside_full_batch(element.provenance))
        if value.kind is Kind.TENSOR:
            return element.replace(shape=shapes.without(shape_of(value), [0])), _row_count_fact(value)
        if role_of(value) is BatchRole.OUTPUT or (value.kind is Kind.BATCH and value.wrapping is Wrapping.WRAPPED):
            # The output of a model, or of a prepared loader, has the same number of parts on all ranks, or a row per
            # sample.
            return element, Rank(State.LOCAL, value.rank.origins, "count")
        return element, ranks.of_length(value.rank)
    if value.rank.state is State.SAME and (not isinstance(value, InstanceValue) or datasets.is_dataset(value)):
        return Value(value.rank), ranks.SAME
    if value.rank == ranks.SETTING and value.kind is Kind.UNKNOWN:
        return Value(value.rank), value.rank
    if value.rank == ranks.DRAWN and (datasets.is_dataset(value) or value.kind is Kind.UNKNOWN):
        return Value(value.rank, provenance=value.provenance), ranks.UNKNOWN
    return UNKNOWN, ranks.UNKNOWN


def _as_one_of_several(element: Value) -> Value:
    """An element of a list of objects of several classes: which of them are there is decided elsewhere."""
    return element.replace(rank=ranks.UNKNOWN) if isinstance(element, OneOfProjectObjects) else element


def is_never_iterable(cls: ClassInfo) -> bool:
    """Whether iterating over an instance of a class raises: it has neither bases nor methods for it."""
    if cls.node.bases or cls.node.keywords or cls.node.decorators:
        return False
    return not any(cls.find(name) for name in ("__iter__", "__getitem__"))


def _row_count_fact(tensor: Value) -> Rank:
    """Whether a tensor that differs has as many rows on all ranks: one per sample, unless selected by a mask."""
    if tensor.rank.origins == Origin.RNG:
        return ranks.SAME  # each rank draws the same number
    if tensor.rank.how == ranks.DEALT:
        return tensor.rank
    is_ragged = are_rows_ragged(tensor)
    return rows_of_full_batches(tensor) or Rank(State.LOCAL, tensor.rank.origins, "" if is_ragged else "count")


def are_rows_ragged(tensor: Value) -> bool:
    shape = shape_of(tensor)
    return shape is not None and RAGGED in shape.dims[:1]


def rows_of_full_batches(value: Value) -> Rank | None:
    """The number of rows of a full batch, and of what was computed from one; None for other values.

    All ranks have as many rows, unless some were selected, which only the shape can show.
    """
    step = value.provenance
    while step is not None and not isinstance(step, FullBatches):
        step = step.before
    if step is None or are_rows_ragged(value):
        return None
    return ranks.SAME if step is value.provenance and role_of(value) is not None else ranks.UNKNOWN


def _iterate_container(frame: Frame, value: ContainerValue) -> tuple[Value, ranks.Rank]:
    frame.consume(value)
    cells = frame.memory.cells(value)
    if is_gathered_on_one_path(frame, cells):
        return UNKNOWN, ranks.UNKNOWN
    result, length = BOTTOM, ranks.SAME
    for cell in cells:
        if cell.shape == "dict":
            result = join(result, StringValue(cell.naming))
        else:
            result = join_elements(result, cell.element())
        length = ranks.join_lengths(length, cell.length)
    return result, length


def uniform_if_plain(frame: Frame, value: Value, other: Value) -> Value:
    """What to join with another kind of value instead of a container: UNIFORM contents if the container is plain.

    names = list(row) if rows.names is None else rows.names
    """
    if value.kind is not Kind.CONTAINER or other.kind in (Kind.CONTAINER, Kind.NONE):
        return value
    for cell in frame.memory.cells(value):
        ranks_of = (cell.length, cell.naming, *(each.rank for each in cell.values()))
        if not is_flat(cell) or any(rank.state is not State.SAME for rank in ranks_of):
            return value
    return Value(ranks.SAME)


def is_flat(cell: Cell) -> bool:
    """Whether nothing in a container holds other values."""
    return not any(each.identities or list(each.inside()) for each in cell.values())


def has_one_per_rank(cells: list[Cell]) -> bool:
    """Whether a list has as many elements as there are ranks: what `all_gather` fills."""
    return bool(cells) and all(cell.length == ranks.PER_RANK for cell in cells)


def is_gathered_on_one_path(frame: Frame, cells: list[Cell]) -> bool:
    """Whether a container holds gathered objects on one path, and ungathered ones on another (`if not is_global:`).

    The objects may be rows, `{"loss": 0.5}`: then what is in them counts.
    """
    if len(cells) < 2:
        return False
    found = [_ranks_in(frame, cell) for cell in cells if cell.shape != "dict"]
    own = [any(rank.differs for rank in each) for each in found]
    gathered = [any(rank.is_reduced for rank in each) for each in found]
    return any(own) and any(some and not differs for some, differs in zip(gathered, own, strict=True))


def _ranks_in(frame: Frame, cell: Cell) -> list[ranks.Rank]:
    """How the elements of a container relate to those of other ranks, and what is in these elements."""
    element = cell.element()
    inner = frame.memory.cells(element) if isinstance(element, ContainerValue) else ()
    return [element.rank, *(each.rank for one in inner for each in one.values())]


# The kind of the elements of a value, by its kind.
_KIND_OF_ELEMENTS = {
    Kind.TENSOR: Kind.TENSOR,
    Kind.BATCH: Kind.BATCH,
    Kind.STRING: Kind.STRING,
    Kind.NUMBER_LIST: Kind.NUMBER,
}


class ViewKey(str):
    """A key of a loop over `d.items()`: an assignment `d[key] = …` in that loop changes that one entry."""

    __slots__ = ("cells",)
    cells: frozenset[Identity]


# Dicts with more entries than this are not walked entry by entry.
_MAX_ENTRIES = 60


def as_columns(frame: Frame, iterable: Value, node: cst.CSTNode | None) -> Value:
    """The iterable of a loop over a batch, or a model's output, that the code reads by key: names, as on all ranks."""
    may_be_mapping = role_of(iterable) in (BatchRole.OUTPUT, BatchRole.WHOLE)
    if may_be_mapping and isinstance(node, cst.Name) and node.value in read_by_key(frame.root):
        return IterableValue(ranks.SAME, StringValue(ranks.SAME), ranks.SAME)
    return iterable


def as_view(frame: Frame, iterable: Value, node: cst.CSTNode | None) -> Value:
    """Treat `for key in d` like `for key in d.keys()`. node: the expression."""
    iterable = as_columns(frame, iterable, node)
    if isinstance(iterable, ContainerValue) and all(cell.shape == "dict" for cell in frame.memory.cells(iterable)):
        return IterableValue(ranks.SAME, StringValue(naming(frame, iterable)), ranks.SAME, (iterable, "keys"))
    return iterable


def items_of(frame: Frame, iterable: Value) -> list[Value] | None:
    """The (key, value) pairs of `d.items()` one by one, if `d` is a known dict; None otherwise."""
    if not isinstance(iterable, IterableValue) or iterable.view is None:
        return None
    source, form = iterable.view
    entries: dict[Hashable, Value] = {}
    rest: Value | None = None
    for cell in frame.memory.cells(source):
        for key, value in cell.entries.items():
            entries[key] = join(entries[key], value) if key in entries else value
        if cell.rest is not None:
            rest = cell.rest if rest is None else join(rest, cell.rest)
    if len(entries) > _MAX_ENTRIES:
        return None
    frame.consume(source)
    keys = naming(frame, source)
    pairs = [_pair(_key_value(key, source, keys), value, form) for key, value in entries.items()]
    if rest is not None:
        pairs.append(_pair(StringValue(keys, const=REST), rest, form))
    return pairs


def length_on_some(frame: Frame, value: Value) -> ranks.Rank | None:
    """The length of an iterable that is empty on all ranks but some (or on all); None if others may have elements."""
    if isinstance(value, IterableValue):
        if value.length.how == ranks.HELD:
            return value.length
        return None if value.view is None else length_on_some(frame, value.view[0])
    cells = frame.memory.cells(value)
    if not cells or not all(cell.is_empty or cell.length.how == ranks.HELD for cell in cells):
        return None
    return next((cell.length for cell in cells if cell.length.how == ranks.HELD), ranks.SAME)


def truth_on_some(frame: Frame, value: Value) -> Value | None:
    """The truth of a container that is empty on all ranks but some; None for other values."""
    length = length_on_some(frame, value) if value.kind is Kind.CONTAINER else None
    return derived(RANK_LOCAL, Kind.NUMBER, value, dtype="bool") if length is not None and length.differs else None


def naming(frame: Frame, source: ContainerValue) -> ranks.Rank:
    """The fact of the unknown keys of a dict: whether they are the same on all ranks."""
    found = ranks.SAME
    for cell in frame.memory.cells(source):
        found = ranks.join(found, cell.naming)
    return found


# Loops over at most this many items are run once per item, if that keeps facts separate; over the fields of a record,
# whose code in the loop is short, at most this many.
_MAX_ITEMS_TO_UNROLL, _MAX_FIELDS_TO_UNROLL = 8, 16


def items_to_unroll(frame: Frame, iterable: Value) -> list[Value] | None:
    """The items to unroll: of constant strings, as in `for split in ("chosen", "rejected")`, or with a model in it.

    The facts of a model would be lost if it were joined with another model, or with other values; where others are
    None, it would be lost which. Rows of lists are unrolled if there is one.
    """
    items = positions_of(frame, iterable)
    are_fields = all(isinstance(item, records.Field) for item in items or ())
    if not items or len(items) > (_MAX_FIELDS_TO_UNROLL if are_fields else _MAX_ITEMS_TO_UNROLL):
        return None
    keeps_facts = all(isinstance(item.const, str) for item in items) or any(map(has_model, items))
    is_row = len(items) == 1 and isinstance(items[0], TupleValue)
    return list(items) if keeps_facts or is_row or lacks_some(items) else None


def lacks_some(items: Sequence[Value]) -> bool:
    """Whether some of the items are None, or have None at a place of which others have something."""
    columns = zip(*map(items_or_itself, items), strict=False)
    return any(0 < sum(map(is_none, column)) < len(column) for column in columns)


def has_model(item: Value) -> bool:
    """Whether an item is a model, or a prepared object that may be one, or contains one."""
    return may_be_model(item) or any(map(has_model, item.items))


def _key_value(key: Hashable, source: ContainerValue, names: ranks.Rank) -> Value:
    if isinstance(key, str):
        names = names if WILDCARD in key else ranks.SAME
        key = ViewKey(key)
        key.cells = source.identities
        return StringValue(names, const=key)
    return StringValue(ranks.SAME, const=key)


def _pair(key: Value, value: Value, form: str) -> Value:
    if form == "items":
        return TupleValue(ranks.SAME, (key, value))
    return value if form == "values" else key


def one_among(values: Sequence[Value]) -> Value | None:
    """Any element of a list, if it is not known where each of these values stands in it; None if there are none.

    Nothing is known of one of `[*samplers, None]`: it may be the None, which all ranks have, or not.
    """
    nones = [each.kind is Kind.NONE for each in values]
    if any(nones) and not all(nones):
        return UNKNOWN
    joined = join_all(values) if values else None
    if joined is None or joined.gradient is None:
        return joined
    return joined.replace(gradient=reduce(among, (each.gradient for each in values)))


def positions_of_any(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """The items of a value that is one of several lists of the same length, each of them one of theirs."""
    known = [positions_of(frame, value.with_parts(frozenset({each}))) for each in value.identities]
    if len(known) < 2 or None in known or len({len(items) for items in known if items is not None}) != 1:
        return positions_of(frame, value)
    return tuple(join_all(column) for column in zip(*filter(None, known), strict=True))


def positions_of(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple or a NamedTuple, or of a list whose items are all known; None otherwise."""
    if isinstance(value, TupleValue):
        return value.items
    cells = frame.memory.cells(value) if len(value.identities) == 1 else []
    if cells and cells[0].shape == "list" and cells[0].rest is None:
        return tuple(cells[0].entries.values())
    return records.items_of(frame, value)

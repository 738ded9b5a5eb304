"""Dicts created from pairs, from keys, from keywords, and from the fields of a record."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.state import containers, records, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, Place
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell, with_key
from trl_lint.domain.kinds import NONE, IterableValue
from trl_lint.domain.values import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    import libcst as cst


def new_dict(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    cell = Cell("dict")
    if args.positional:
        source = args.positional[0]
        listed = any(found.shape == "list" for found in frame.memory.cells(source))
        if listed or isinstance(source, IterableValue):
            cell = _of_pairs(frame, source)
        else:
            cell = containers.merged_into(frame, cell, source)
    return frame.allocate(node, cell.holding({**cell.entries, **entries_of(frame, args)}, cell.rest))


def entries_of(frame: Frame, args: Arguments) -> dict[Hashable, Value]:
    """The entries that `dict(key=value)` writes."""
    return {key: frame.written(value, key, args.expression(key)) for key, value in args.keywords.items()}


def _of_pairs(frame: Frame, source: Value) -> Cell:
    """The dict of (key, value) pairs: key by key if the pairs are known."""
    cells = frame.memory.cells(source)
    if len(cells) == 1 and cells[0].rest is None:
        cell = Cell("dict")
        for pair in cells[0].entries.values():
            key, value = _pair(pair) or (UNKNOWN, UNKNOWN)
            cell = with_key(cell, containers.constant_key(key), value, key.rank)
        return cell
    element, length = containers.iterate(frame, source)
    key, value = _pair(element) or (containers.iterate(frame, element)[0],) * 2
    return Cell("dict", rest=value, length=length, naming=key.rank)


def _pair(value: Value) -> tuple[Value, Value] | None:
    if len(value.items) == 2:
        return value.items[0], value.items[1]
    return None


def from_keys(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`dict.fromkeys(keys, value)`."""
    source = args.positional[0]
    value = args.positional[1] if len(args.positional) > 1 else NONE
    cells, keys = frame.memory.cells(source), source.items
    if len(cells) == 1 and cells[0].rest is None and cells[0].shape == "list":
        keys = tuple(cells[0].entries.values())
    if not keys:
        name, length = containers.iterate(frame, source)
        return frame.allocate(node, Cell("dict", rest=value, length=length, naming=name.rank))
    cell = Cell("dict")
    for key in keys:
        cell = with_key(cell, containers.constant_key(key), value, key.rank)
    return frame.allocate(node, cell)


# --- records --------------------------------------------------------------------------------------------


def of_record(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`vars(record)`, `dataclasses.asdict(record)`; of options of the command line, settings."""
    if args.positional:
        record = args.positional[0]
        fields = of_fields(frame, record, node)
        if fields is not None:
            return fields
        if record.kind is Kind.UNKNOWN and record.rank.is_uniform:
            return settings.SETTING
    return frame.engine.unresolved(frame, args, node)


def of_fields(frame: Frame, value: Value, place: Place) -> Value | None:
    """The dict of the fields of a record, nested records included; None if the value is no record."""
    return _of_fields(frame, value, place, _MAX_NESTED)


# How deep records are nested at most: one may contain itself.
_MAX_NESTED = 4


def _of_fields(frame: Frame, value: Value, place: Place, depth: int) -> Value | None:
    fields = records.read(frame, value) if isinstance(value, ProjectInstance) and depth else {}
    if not fields:
        return None
    inside: dict[Hashable, Value] = {
        name: _of_fields(frame, each, (place, name), depth - 1) or each for name, each in fields.items()
    }
    return frame.allocate(place, Cell("dict", inside))


def listed_fields(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`dataclasses.fields(record)`: the name of each field."""
    cls = class_of(args.positional[0]) if args.positional else None
    names = [] if cls is None else records.fields_of(cls)
    if not names:
        return frame.engine.unresolved(frame, args, node)
    return containers.tuple_of(frame, [records.Field(ranks.SAME, const=each) for each in names], node)

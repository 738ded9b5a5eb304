"""Mutable state: local names, containers on an abstract heap, and attributes of `self`, with their joins.

>>> from trl_lint.domain.kinds import TensorValue
>>> loss, same = TensorValue(ranks.LOCAL_MEAN), Value(ranks.SAME)
>>> logs = with_key(Cell("dict"), "loss", loss)  # logs["loss"] = loss
>>> print(read_key(logs, "loss").rank, read_key(logs, "step"), read_key(with_key(logs, MISSING, same), "step").rank)
local(data) None same
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, TypeVar

from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.control import Control
from trl_lint.domain.joins import join, join_all, join_elements, with_element
from trl_lint.domain.kinds import Identity, IterableValue
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value

# In a key: replaces the unknown parts of an f-string.
WILDCARD = "\0"


class _Rest:
    """The key of "every entry that is not named", for a loop that rewrites all such entries."""

    def __repr__(self) -> str:
        return "REST"


REST: Any = _Rest()


_Key = TypeVar("_Key")


_NO_KEYS: Mapping[int, Hashable] = {}


class Cell:
    """The contents of one container. Immutable: a mutation puts a new Cell on the heap.

    Attributes:
        shape: "dict", "list" or "set".
        entries: Values by constant key, or by position for a list whose items are all known.
        rest: The join of all other values, None if there are none.
        factory: For a defaultdict, the function that creates a missing entry.
        length: Whether the number of entries is the same on all ranks.
        naming: Whether the keys of a dict are the same on all ranks.
    """

    __slots__ = ("_element", "entries", "factory", "keys", "length", "naming", "rest", "shape")

    def __init__(
        self,
        shape: str,
        entries: dict[Hashable, Value] | None = None,
        rest: Value | None = None,
        factory: Value | None = None,
        length: Rank = ranks.SAME,
        naming: Rank = ranks.SAME,
    ) -> None:
        self.shape = shape
        self.entries = entries or {}
        self.rest = rest
        self.factory = factory
        self.length = length
        self.naming = naming
        self._element: Value | None = None
        self.keys: Mapping[int, Hashable] = _NO_KEYS  # by depth, if they depend on no other cell: see `equality`

    def holding(self, entries: dict[Hashable, Value], rest: Value | None) -> Cell:
        """This container with other contents."""
        return Cell(self.shape, entries, rest, self.factory, self.length, self.naming)

    def changed(self, change: Callable[[Value], Value]) -> Cell:
        """This container with each of its values changed."""
        entries = {key: change(value) for key, value in self.entries.items()}
        return self.holding(entries, None if self.rest is None else change(self.rest))

    def longer_by(self, more: Rank) -> Rank:
        """The fact of its length after elements have been added. more: that of how many ranks add how many."""
        if self.is_empty:
            return more if more.how == ranks.HELD else ranks.grown(self.length, more)
        # Elements that all ranks have, and those of some ranks, are more than some ranks' elements.
        is_held = self.length.how == more.how == ranks.HELD or (self.length.how == ranks.HELD and more.is_by_rank)
        known = (self.length, more) if is_held else map(_of_any, (self.length, more))
        return ranks.grown(*known)

    @property
    def is_empty(self) -> bool:
        return not self.entries and self.rest is None

    @property
    def is_bare(self) -> bool:
        """Whether it is empty, at least in a run that does not go on with an earlier one."""
        return self.is_empty or self.length == ranks.RESTORED

    def values(self) -> Iterator[Value]:
        yield from self.entries.values()
        if self.rest is not None:
            yield self.rest

    def element(self) -> Value:
        """The join of its elements, computed once."""
        if self._element is None:
            result: Value = BOTTOM
            for value in self.values():
                result = with_element(result, value)
            self._element = result
        return self._element


def join_cells(a: Cell, b: Cell, divided: Rank = ranks.SAME) -> Cell:
    if a is b:
        return a
    if a.shape != b.shape:
        return Cell(a.shape, rest=join(a.element(), b.element(), divided), length=ranks.UNKNOWN)
    entries: dict[Hashable, Value] = {}
    rest = _join_optional(a.rest, b.rest, divided, join_elements if a.shape == "list" else join)
    length_on_some = _length_on_some_ranks(a, b, divided)
    length = length_on_some or _joined_length(a, b)
    if a.shape == "list" and len(a.entries) != len(b.entries):
        # The positions no longer mean the same thing.
        return Cell("list", rest=join_elements(a.element(), b.element(), divided), length=length)
    if length_on_some is None and divided.differs and _has_other_keys(a, b):
        length = ranks.join_lengths(length, _divided_length(divided))
    for key in (*a.entries, *(key for key in b.entries if key not in a.entries)):  # no set: the order has to be fixed
        left, right = a.entries.get(key), b.entries.get(key)
        if left is None or right is None:
            entries[key] = left or right  # type: ignore[assignment]
        else:
            entries[key] = join(left, right, divided)
    return Cell(a.shape, entries, rest, a.factory or b.factory, length, ranks.join(a.naming, b.naming))


def _length_on_some_ranks(a: Cell, b: Cell, divided: Rank) -> Rank | None:
    """The length of a container that only some ranks have added to, and that is empty on the branch of the others.

    lines = []
    if is_main_process:
        lines.append("done")
    """
    bare = [each.is_bare or each.length.how == ranks.HELD for each in (a, b)]
    if (a.is_empty and b.is_empty) or a.length == b.length == ranks.RESTORED or not any(bare):
        return None
    by_rank = divided.is_by_rank and not (_is_share(a) or _is_share(b))
    if not (by_rank or (all(bare) and ranks.HELD in (a.length.how, b.length.how))):
        return None
    return ranks.HELD_BY_RANK


def _joined_length(a: Cell, b: Cell) -> Rank:
    is_restored = a.is_bare and b.is_bare and ranks.RESTORED in (a.length, b.length)
    return ranks.RESTORED if is_restored else ranks.join_lengths(a.length, b.length)


def _is_share(cell: Cell) -> bool:
    """Whether each rank has added data in its turn: `if i % size == rank: rows.append(row)`."""
    return Origin.DATA in cell.length.origins


def _of_any(length: Rank) -> Rank:
    return ranks.nonlinear(length) if length.how == ranks.HELD else length


def _divided_length(divided: Rank) -> Rank:
    """The length of a container that gets a further entry under a condition that differs between ranks."""
    return Rank(State.LOCAL, divided.origins) if Origin.RANK in divided.origins else ranks.UNKNOWN


def _has_other_keys(a: Cell, b: Cell) -> bool:
    """Whether one of two cells has a known entry that the other lacks."""
    return (a.rest is None) is not (b.rest is None) or a.entries.keys() != b.entries.keys()


def _join_optional(
    a: Value | None, b: Value | None, divided: Rank, join_both: Callable[[Value, Value, Rank], Value]
) -> Value | None:
    if a is None or b is None:
        return a or b
    return join_both(a, b, divided)


@dataclass(slots=True, eq=False, repr=False)
class Memory:
    """The mutable state at one program point.

    kept: what an attribute has where it is left as it is, though it is assigned elsewhere; None if that is not known.
    """

    names: dict[str, Value]
    heap: dict[Identity, Cell]
    attributes: dict[tuple[Hashable, str], Value]
    control: Control
    kept: Callable[[tuple[Hashable, str]], Value | None] | None = None

    def fork(self) -> Memory:
        return Memory(self.names.copy(), self.heap.copy(), self.attributes.copy(), self.control, self.kept)

    def merge(self, other: Memory | None, divided: Rank = ranks.SAME) -> Memory:
        """Join the other point into this one, in place."""
        if other is None:
            return self
        if divided.is_by_rank:
            self._note_held(other)
        if self.kept is not None and self.attributes.keys() != other.attributes.keys():
            _keep(self.attributes, other.attributes, self.kept)
            _keep(other.attributes, self.attributes, self.kept)
        _merge_values(self.names, other.names, divided)
        _merge_values(self.attributes, other.attributes, divided)
        heap = self.heap
        for identity, cell in other.heap.items():
            mine = heap.get(identity)
            if mine is not cell:
                heap[identity] = cell if mine is None else join_cells(mine, cell, divided)
        others_failed = self.control.others_failed and other.control.others_failed
        self.control = self.control.under(other.control).once_others_failed(others_failed)
        return self

    def _note_held(self, other: Memory) -> None:
        """Note which containers only the ranks in one of two branches have, where the others have an empty one."""
        pairs: list[tuple[Mapping[Any, Value], Mapping[Any, Value]]]
        pairs = [(self.names, other.names), (self.attributes, other.attributes)]
        for mine, theirs in pairs:
            for key, value in mine.items():
                if value.kind is Kind.CONTAINER and (counterpart := theirs.get(key)) is not None:
                    note_held((value, self.heap), (counterpart, other.heap))

    def cells(self, value: Value) -> list[Cell]:
        """The contents of each container that a value may be; none if it is no container."""
        return [self.heap[identity] for identity in value.identities if identity in self.heap]

    def contents(self, value: Value) -> list[Value]:
        """The items of a tuple, or all that a container holds; none for other values."""
        return [*value.items, *(item for cell in self.cells(value) for item in cell.values())]

    def load(self, value: Value, source: Mapping[Identity, Cell]) -> None:
        """Copy the cells that a value reaches to this heap."""
        for identity in reachable(value, source):
            if identity not in self.heap and identity in source:
                self.heap[identity] = source[identity]


def note_held(
    one: tuple[Value, dict[Identity, Cell]],
    other: tuple[Value, dict[Identity, Cell]],
    before: Mapping[Identity, Cell] | None = None,
) -> None:
    """Note for two values, of which a condition on the rank chooses one, that a container is empty on the other ranks.

    todo = [first, second] if rank == 0 else []

    Each value comes with the heap of its branch. A container that was there before the branch, and not empty, is one
    that the other ranks may have, too. before: the heap before the condition, unless each branch has a heap of its own.
    """
    for (value, heap), (counterpart, theirs) in ((one, other), (other, one)):
        empty = counterpart.identities
        if not empty or not all(identity in theirs and theirs[identity].is_empty for identity in empty):
            continue
        known = theirs if before is None else before
        for identity in value.identities:
            cell = heap.get(identity)
            if cell is None or cell.is_empty or _is_share(cell):
                continue
            if cell is not known.get(identity):
                held = ranks.HELD_BY_RANK
                heap[identity] = Cell(cell.shape, cell.entries, cell.rest, cell.factory, held, cell.naming)


def _keep(mine: dict[_Key, Value], others: Mapping[_Key, Value], kept: Callable[[_Key], Value | None]) -> None:
    """Let attributes that only the other point has given a constant keep here what they have."""
    for key, value in others.items():
        if value.const is not MISSING and key not in mine and (found := kept(key)) is not None:
            mine[key] = found


def _merge_values(mine: dict[_Key, Value], others: Mapping[_Key, Value], divided: Rank) -> None:
    for name, value in others.items():
        existing = mine.get(name)
        if existing is not value:
            mine[name] = value if existing is None else join(existing, value, divided)


class JoinedHeap(ChainMap[Identity, Cell]):
    """Several heaps as one; a cell that several have is joined when somebody asks for it."""

    def __getitem__(self, identity: Identity) -> Cell:
        cells = [heap[identity] for heap in self.maps if identity in heap]
        return reduce(join_cells, cells) if cells else self.__missing__(identity)

    def __iter__(self) -> Iterator[Identity]:
        return iter(dict.fromkeys(chain.from_iterable(self.maps)))


def reachable(value: Value, heap: Mapping[Identity, Cell]) -> list[Identity]:
    """The identities of all cells that can be reached from a value, in a stable order."""
    return reachable_from((value,), heap)


def reachable_from(values: Iterable[Value], heap: Mapping[Identity, Cell]) -> list[Identity]:
    """The identities of all cells that can be reached from some values, in a stable order."""
    found: dict[Identity, None] = {}
    seen: set[int] = set()
    todo = [*values]
    todo.reverse()
    while todo:
        item = todo.pop()
        for identity in sorted(item.identities):
            if identity not in found:
                found[identity] = None
                cell = heap.get(identity)
                if cell is not None:
                    todo.extend(_in_order(cell))
        if item.items and id(item.items) not in seen:
            seen.add(id(item.items))
            todo.extend(reversed(item.items))
        elif isinstance(item, IterableValue):
            todo.append(item.element)
    return list(found)


def _in_order(cell: Cell) -> Iterator[Value]:
    """The values of a cell that lead to other cells, in an order that does not depend on its history."""
    through = [(str(key), value) for key, value in cell.entries.items() if value.kind in _HOLDS_CELLS]
    if len(through) > 1:
        through.sort(key=_entry_name)
    for _, value in through:
        yield value
    if cell.rest is not None:
        yield cell.rest


_HOLDS_CELLS = frozenset({Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE})


def _entry_name(entry: tuple[str, Value]) -> str:
    return entry[0]


def read_key(cell: Cell, key: Hashable) -> Value | None:
    """The value at a constant key; MISSING is an unknown key. None if there is nothing at the key."""
    if key is MISSING:
        return cell.element().as_present() if cell.entries or cell.rest is not None else None
    if key is REST:
        return cell.rest
    if isinstance(key, int) and key < 0 and cell.shape == "list" and cell.entries and cell.rest is None:
        key = len(cell.entries) + key
    found = cell.entries.get(key)
    if found is not None:
        return found
    matching = [value for pattern, value in cell.entries.items() if _may_match(pattern, key)]
    if cell.rest is not None:
        matching.append(cell.rest)
    return join_all(matching) if matching else None


def names_like(pattern: str, ending: str = "") -> re.Pattern[str]:
    """The names that a name with wildcards may mean, each followed by an ending."""
    return re.compile(".*".join(map(re.escape, pattern.split(WILDCARD))) + re.escape(ending))


def _may_match(pattern: Hashable, key: Hashable) -> bool:
    """Whether two keys with unknown parts may be the same text."""
    if not (isinstance(pattern, str) and isinstance(key, str)):
        return False
    if WILDCARD in key:
        pattern, key = key, pattern
    head, unknown, _ = pattern.partition(WILDCARD)
    tail = pattern.rpartition(WILDCARD)[2]
    return bool(unknown) and WILDCARD not in key and key.startswith(head) and key.endswith(tail)


def with_key(cell: Cell, key: Hashable, value: Value, naming: Rank = ranks.SAME) -> Cell:
    """The cell after `cell[key] = value`. naming: whether the key is the same on all ranks."""
    if naming is not ranks.SAME and naming != cell.naming:
        cell = Cell(cell.shape, cell.entries, cell.rest, cell.factory, cell.length, ranks.join(cell.naming, naming))
    if key is REST:
        return cell.holding(cell.entries, value)
    if cell.length.how == ranks.HELD:  # from here on other ranks may have entries as well
        length = ranks.nonlinear(cell.length)
        cell = Cell(cell.shape, cell.entries, cell.rest, cell.factory, length, cell.naming)
    if key is MISSING:
        if cell.shape == "list" and cell.entries:
            return Cell("list", rest=join(cell.element(), value), length=cell.length)
        entries = {name: _if_replaced(known, value) for name, known in cell.entries.items()}
        return cell.holding(entries, value if cell.rest is None else join(cell.rest, value))
    return cell.holding({**cell.entries, key: value}, cell.rest)


def _if_replaced(known: Value, value: Value) -> Value:
    """An entry that may be the one that was assigned: it may no longer be the constant that it was, or None."""
    if known.kind is Kind.NONE:
        return join(known, value)
    if known.const is MISSING or known.const == value.const:
        return known
    return known.replace(const=MISSING)


def unknown_cell(cell: Cell) -> Cell:
    """The cell after code whose source is not available has had access to it."""
    entries = {key: UNKNOWN for key in cell.entries}
    return Cell(cell.shape, entries, UNKNOWN, cell.factory, ranks.UNKNOWN, cell.naming)

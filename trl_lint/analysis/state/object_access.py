"""What a run of a function has read and written of objects that all runs share.

For example:

    self.best = loss        a write, which other methods see once it is flushed
    if self.best > loss:    a read: the run is repeated if another method has written since
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator

from trl_lint.analysis.program.project.assigned_values import OfHeir
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import Cell, Memory, reachable
from trl_lint.domain.kinds import Identity
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value

# A constant of these says all of a value.
_PLAIN = (str, int, float)
# What holds others has facts of its own, on the heap or as a model, and is not read as a whole.
_HOLDING = frozenset({Kind.CONTAINER, Kind.ITERABLE, Kind.MODEL, Kind.TUPLE})


class ObjectAccess:
    """What a run has read and written of the project's objects, which all runs share.

    dependencies: the versions of the attributes and containers that it has read. class_cells: the owner of each
    container. dirty, dirty_cells: what it has written and not yet flushed. inlined: how often nested functions, which
    share this, have run as part of it. constructs: whether it makes an object, which has nothing before. set_by_bases:
    the attributes that the `__init__` of a base has set.
    """

    __slots__ = (
        "attribute_writes",
        "cell_writes",
        "class_cells",
        "constructs",
        "dependencies",
        "dirty",
        "dirty_cells",
        "inlined",
        "set_by_bases",
    )

    def __init__(self) -> None:
        self.dependencies: dict[tuple[ClassInfo, str | Identity], int] = {}
        self.attribute_writes: set[tuple[ClassInfo, str]] = set()
        self.cell_writes: set[Identity] = set()
        self.class_cells: dict[Identity, ClassInfo] = {}
        self.dirty: set[tuple[ClassInfo, str]] = set()
        self.dirty_cells: set[Identity] = set()
        self.inlined = 0
        self.constructs = False
        self.set_by_bases: set[tuple[ClassInfo, str]] = set()

    def kept(self, key: tuple[Hashable, str]) -> Value | None:
        """What an attribute that this run has written has on a way on which it has not: what others have left there.

        if score < self.best:
            self.stops = True       on the other way it is what `__init__` has set
        """
        cls, name = key
        if not isinstance(cls, ClassInfo) or (cls, name) not in self.attribute_writes:
            return None
        value = None
        if not self.constructs:
            self.dependencies.setdefault((cls, name), cls.version(name))
            value = cls.attribute(name, built=True)
        if value is None or value.rank.state is State.BOTTOM:
            value = next((each.variables[name] for each in cls.project_lineage() if name in each.variables), None)
        return None if value is None or value.kind in _HOLDING else value.replace(const=MISSING)

    def written(self, memory: Memory) -> dict[tuple[ClassInfo, str], Value]:
        """What this run has left in attributes since the last flush.

        What is the same beside something that it has reduced counts as reduced, too. After which calls of other methods
        that happens is unknown:

            self.total = mean_over_ranks(self.total / self.count)
            self.count = 1                  no longer the number of samples of this rank, which other methods add to
        """
        left = {key: memory.attributes[key] for key in self.dirty if key in memory.attributes}
        reduced = {cls for (cls, _), value in left.items() if value.rank.is_reduced}
        return {
            (cls, name): value.replace(rank=ranks.REDUCED) if cls in reduced and value.rank == ranks.SAME else value
            for (cls, name), value in left.items()
        }

    def constants(self, memory: Memory) -> dict[str, Value]:
        """The attributes that an `__init__` leaves with one constant each, whatever others of the class have there."""
        if not self.constructs:
            return {}
        written = self.attribute_writes | self.set_by_bases
        known = ((key, memory.attributes[key]) for key in written if key in memory.attributes)
        return {name: value for (_, name), value in known if isinstance(value.const, _PLAIN)}

    def take_set_by_bases(self, names: set[str]) -> set[tuple[ClassInfo, str]]:
        """The attributes of these names that the `__init__` of a base has set, which no longer count as set by it."""
        found = {key for key in self.set_by_bases if key[1] in names}
        self.set_by_bases -= found
        return found

    def fork(self) -> tuple[set[tuple[ClassInfo, str]], set[Identity]]:
        """Begin a branch: writes of the other branch are not flushed in it. Return the writes so far, for `merge`."""
        written = (self.dirty, self.dirty_cells)
        self.dirty, self.dirty_cells = self.dirty.copy(), self.dirty_cells.copy()
        return written

    def merge(self, written: tuple[set[tuple[ClassInfo, str]], set[Identity]]) -> None:
        """End a branch: add back the unflushed writes of before it, and of others."""
        self.dirty |= written[0]
        self.dirty_cells |= written[1]

    def mark_read(self) -> None:
        """Mark the current version of everything that this run has both read and written as read."""
        for key in self.attribute_writes & self.dependencies.keys():
            self.dependencies[key] = key[0].version(key[1])

    def publish(self, memory: Memory, run: Hashable, base_of: Callable[[ClassInfo], ClassInfo | None]) -> None:
        """Publish what a run has written since the last time. base_of: the class that joins what its heirs have."""
        for (cls, name), value in self.written(memory).items():
            cls.flush(name, value, run, memory.heap)
            if (base := base_of(cls)) is not None:
                method, *others = run if isinstance(run, tuple) else (run,)
                base.flush(name, value, (method, *others, OfHeir(id(cls))), memory.heap)
        self.dirty.clear()
        todo = list(self.dirty_cells)
        self.dirty_cells.clear()
        seen = set(todo)
        while todo:
            identity = todo.pop()
            cell = memory.heap.get(identity)
            if cell is None:
                continue
            owner = self.class_cells[identity]
            owner.flush_cell(identity, cell)
            if (base := base_of(owner)) is not None:
                base.flush_cell(identity, cell)
            for inner in _stored(cell, memory):
                self.class_cells.setdefault(inner, owner)
                if inner not in seen:
                    seen.add(inner)
                    todo.append(inner)


def load_attribute(memory: Memory, cls: ClassInfo, value: Value) -> None:
    """Copy the containers that an attribute's value reaches onto the heap of a running function."""
    contents = cls.contents()
    for identity in reachable(value, ChainMap(memory.heap, contents)):
        if identity not in memory.heap and identity in contents:
            memory.heap[identity] = contents[identity]


def _stored(cell: Cell, memory: Memory) -> Iterator[Identity]:
    """The containers in a container, and in what it holds: they are stored on the object as well."""
    for item in cell.values():
        if item.kind in (Kind.CONTAINER, Kind.TUPLE):
            yield from reachable(item, memory.heap)

"""Objects of one class of which it is only known that they are from one of a few allocation sites.

For example:

    meters = {"loss": Meter(), "accuracy": Meter()}
    for meter in meters.values():
        meter.reduce()              one of these two: what it leaves may be in either of them
        print(meter.mean)           what one of these two has, not what another `Meter()` of the program has
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, MutableMapping
from functools import reduce

from trl_lint.analysis.program.project.assigned_values import in_any_order
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.domain.heap import Cell, JoinedHeap
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import Identity
from trl_lint.domain.values import BOTTOM, Value

# With more, or beyond so many combinations, an object may be from any site.
MAX_SITES = 6
MAX_COMBINATIONS = 16


class EitherSite(ClassInfo):
    """A class, for objects from one of several of its allocation sites: what they have is the join of these."""

    def __init__(self, sites: tuple[ClassInfo, ...]) -> None:
        vars(self).update(vars(sites[0].origin))
        self.sites = sites
        self.made, self.awaits_constructor = True, False
        self.fixed = reduce(frozenset.intersection, (each.fixed for each in sites))

    def attribute(self, name: str, built: bool = False) -> Value | None:
        found = [each.attribute(name, built) for each in self.sites]
        known = [value for value in found if value is not None]
        return in_any_order(reduce(join, known), known) if known else None

    def contents(self) -> MutableMapping[Identity, Cell]:
        return JoinedHeap(*(each.contents() for each in self.sites))

    def flush(self, name: str, value: Value, writer: Hashable, heap: dict[Identity, Cell]) -> None:
        for each in self.sites:
            each.flush(name, value, writer, heap)

    def flush_cell(self, identity: Identity, cell: Cell) -> None:
        for each in self.sites:
            each.flush_cell(identity, cell)

    def writers(self, name: str) -> frozenset[Hashable]:
        return frozenset[Hashable]().union(*(each.writers(name) for each in self.sites))

    def is_assigned_by_others(self, name: str, method: FunctionInfo) -> bool:
        return any(each.is_assigned_by_others(name, method) for each in self.sites)

    def is_assigned_by_several(self, name: str) -> bool:
        return any(each.is_assigned_by_several(name) for each in self.sites)

    def values_assigned_in(self, name: str, method: FunctionInfo) -> list[Value]:
        return [value for each in self.sites for value in each.values_assigned_in(name, method)]

    def values_assigned_except(self, name: str, methods: frozenset[Hashable]) -> Value:
        return reduce(join, (each.values_assigned_except(name, methods) for each in self.sites), BOTTOM)

    def count(self, name: str | Identity) -> None:
        for each in self.sites:
            each.count(name)

    def version(self, name: str | Identity) -> int:
        return sum(each.version(name) for each in self.sites)


class _Combinations:
    """For a class, those of its sites from which objects may come."""

    def __init__(self) -> None:
        self.known: dict[frozenset[ClassInfo], EitherSite] = {}


def either(one: ClassInfo, other: ClassInfo) -> ClassInfo:
    """The class for an object of one of these, which differ in their allocation sites at most."""
    sites = dict.fromkeys((*_sites_of(one), *_sites_of(other)))
    if not all(each.is_copy for each in sites) or len(sites) > MAX_SITES:
        return one.origin
    known = one.origin.notes.of(_Combinations).known
    found = known.get(frozenset(sites))
    if found is None and len(known) < MAX_COMBINATIONS:
        found = known[frozenset(sites)] = EitherSite(tuple(sites))
    return found or one.origin


def _sites_of(cls: ClassInfo) -> Iterable[ClassInfo]:
    return cls.sites if isinstance(cls, EitherSite) else (cls,)

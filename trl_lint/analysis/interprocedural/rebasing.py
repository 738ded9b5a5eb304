"""Provenance rebasing: why a result differs between ranks, explained to each caller in its own terms.

A function is run once for all calls with the same facts, and the chains that explain its result begin with what
explains the arguments of the first call. Another caller has other arguments: with `def half(x): return x / 2`,

    half(loss)       because `loss` is a rank-local mean, because of `x / 2`, returned by `half`
    half(other)      because `other` is a rank-local mean, because of `x / 2`, returned by `half`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trl_lint.domain.heap import Cell, reachable
from trl_lint.domain.kinds import ContainerValue, Identity, IterableValue, TupleValue
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value


def origins(names: Mapping[str, Value], heap: Mapping[Identity, Cell]) -> dict[int, str]:
    """The arguments by the ids of the steps that explain them, or the contents of the containers that they are."""
    found: dict[int, str] = {}
    for name, value in names.items():
        for step in _explaining_steps(value, heap):
            found.setdefault(id(step), name)
    return found


def _explaining_steps(value: Value, heap: Mapping[Identity, Cell]) -> Iterable[Step]:
    if value.provenance is not None:
        yield value.provenance
    if value.kind in (Kind.LOADER, Kind.TUPLE):
        for item in value.inside():
            yield from _explaining_steps(item, heap)
    elif value.kind in (Kind.CONTAINER, Kind.ITERABLE):
        for identity in reachable(value, heap):
            if identity in heap:
                yield from (each.provenance for each in heap[identity].values() if each.provenance is not None)


class Rebasing:
    """Replaces the explanations of the call that a function was run for by those of the caller.

    sources: the arguments of that call by the steps that explain them (see `origins`). names, heap: the caller's.
    """

    def __init__(self, sources: Mapping[int, str], names: Mapping[str, Value], heap: Mapping[Identity, Cell]) -> None:
        self._sources = sources
        self._names = names
        self._heap = heap
        self._new_steps: dict[str, Step | None] = {}

    def __call__(self, value: Value) -> Value:
        """The value with a chain that begins with the caller's argument."""
        if value.provenance is None or not value.rank.differs:
            return value
        provenance = self._rebased(value.provenance)
        return value if provenance is value.provenance else value.replace(provenance=provenance)

    def _rebased(self, provenance: Step) -> Step:
        chain: list[Step] = []
        step: Step | None = provenance
        while step is not None and id(step) not in self._sources:
            chain.append(step)
            step = step.before
        if step is None:
            return provenance
        result = self._new_step(self._sources[id(step)])
        if result is None or result is step:
            return provenance
        for each in reversed(chain):
            result = each.preceded_by(result)
        return result

    def _new_step(self, name: str) -> Step | None:
        if name not in self._new_steps:
            value = self._names.get(name)
            self._new_steps[name] = None if value is None else next(iter(_explaining_steps(value, self._heap)), None)
        return self._new_steps[name]


def renamed_value(value: Value, renamed: Mapping[Identity, tuple[Identity, ...]], rebase: Rebasing | None) -> Value:
    """A callee's value in the caller's terms: its identities for containers, its own explanations."""
    if rebase is not None:
        value = rebase(value)
    if isinstance(value, ContainerValue):
        return value.one_of(frozenset(new for old in value.identities for new in renamed.get(old, (old,))))
    if isinstance(value, TupleValue):
        items = tuple(renamed_value(item, renamed, rebase) for item in value.items)
        return value if all(a is b for a, b in zip(items, value.items, strict=True)) else value.with_parts(items)
    if isinstance(value, IterableValue):
        return value.with_parts(renamed_value(value.element, renamed, rebase), value.length, None)
    return value


def renamed_cell(cell: Cell, renamed: Mapping[Identity, tuple[Identity, ...]], rebase: Rebasing | None) -> Cell:
    entries = {key: renamed_value(value, renamed, rebase) for key, value in cell.entries.items()}
    rest = None if cell.rest is None else renamed_value(cell.rest, renamed, rebase)
    return cell.holding(entries, rest)

"""Why a result differs between ranks, told by each caller in its own terms.

A function is run once for all calls with the same facts, and the chains that explain its result begin with what
explained the arguments of the first of them. Another caller has arguments, and a story, of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trl_lint.domain.heap import Cell, reachable
from trl_lint.domain.kinds import Identity, TupleValue
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Kind, Value


def origins(names: Mapping[str, Value], heap: Mapping[Identity, Cell]) -> dict[int, str]:
    """The arguments by the (ids of the) steps that explain them, or what is in the containers that they are."""
    found: dict[int, str] = {}
    for name, value in names.items():
        for step in _whys(value, heap):
            found.setdefault(id(step), name)
    return found


def _whys(value: Value, heap: Mapping[Identity, Cell]) -> Iterable[Step]:
    if value.why is not None:
        yield value.why
    if isinstance(value, TupleValue):
        for item in value.items:
            yield from _whys(item, heap)
    elif value.kind in (Kind.CONTAINER, Kind.ITERABLE):
        for identity in reachable(value, heap):
            if identity in heap:
                yield from (each.why for each in heap[identity].values() if each.why is not None)


class Retelling:
    """Puts a caller's own explanations in place of those of the call that a function was run for.

    told: the arguments of that call by the steps that explain them (see `origins`). names, heap: the caller's.
    """

    def __init__(self, told: Mapping[int, str], names: Mapping[str, Value], heap: Mapping[Identity, Cell]) -> None:
        self._told = told
        self._names = names
        self._heap = heap
        self._own: dict[str, Step | None] = {}

    def __call__(self, value: Value) -> Value:
        """The value with a chain that begins where the caller's argument does."""
        if value.why is None or not value.rank.differs:
            return value
        why = self._retold(value.why)
        return value if why is value.why else value.but(why=why)

    def _retold(self, why: Step) -> Step:
        chain: list[Step] = []
        step: Step | None = why
        while step is not None and id(step) not in self._told:
            chain.append(step)
            step = step.before
        if step is None:
            return why
        own = self._of(self._told[id(step)])
        if own is None or own is step:
            return why
        for each in reversed(chain):
            own = Step(each.module, each.node, each.text, own)
        return own

    def _of(self, name: str) -> Step | None:
        if name not in self._own:
            value = self._names.get(name)
            self._own[name] = None if value is None else next(iter(_whys(value, self._heap)), None)
        return self._own[name]

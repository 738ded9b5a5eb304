"""What methods leave in the attributes and containers of an object: the values by their writers, and their joins.

A writer is the key of a run of a method, which begins with the id of the method's node. It ends with `OfHeir` if that
has run for an object of an heir, and is noted in the base.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping
from functools import reduce
from itertools import accumulate, islice
from typing import NamedTuple

from trl_lint.domain import ranks
from trl_lint.domain.constants import CREATED, MISSING, NONE_ON_SOME, World
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.values import BOTTOM, WRAPPED_ON_SOME_WAY, Value


class OfHeir(NamedTuple):
    """The class of an object, by its id, for which a method of a base has run: its other heirs have other objects."""

    heir: int


class ValuesByRun(dict[Hashable, Value]):
    """What runs of methods have left in one attribute, by the run, in the order of their first ones.

    There may be thousands, so the join of those up to each of them is kept: only later ones are joined again.
    with_heirs: whether some have run for objects of heirs.
    """

    __slots__ = ("_joined", "_places", "with_heirs")

    def __init__(self) -> None:
        super().__init__()
        self.with_heirs = False
        self._joined: list[Value] = []
        self._places: dict[Hashable, int] = {}

    def join_with(self, writer: Hashable, value: Value) -> Value:
        """The join of all of them, once a run leaves a value."""
        self[writer] = value
        self.with_heirs = self.with_heirs or _is_of_heir(writer)
        place = self._places.setdefault(writer, len(self._joined))
        merged = self._joined[place - 1] if place else BOTTOM
        for index, each in enumerate(islice(self.values(), place, None), place):
            merged = join(merged, each)
            if index == len(self._joined):
                self._joined.append(merged)
            elif merged is self._joined[index]:
                break  # the same as before, and so are the joins with later ones
            else:
                self._joined[index] = merged
        return self._joined[-1]

    def left(self, with_heirs: bool) -> Mapping[Hashable, Value]:
        """What runs have left. with_heirs: also those for objects of heirs."""
        if with_heirs or not self.with_heirs:
            return self
        return {writer: value for writer, value in self.items() if not _is_of_heir(writer)}

    def move(self, method: int, new: int) -> None:
        """Let what runs of a method have left, by the id of its node, be what those of another node have left."""
        moved = [each for each in self if isinstance(each, tuple) and each[0] == method]
        for writer in moved:
            self[(new, *writer[1:])] = self.pop(writer)
        if moved:  # they are the last ones now
            self._joined = list(accumulate(self.values(), join, initial=BOTTOM))[1:]
            self._places = {writer: place for place, writer in enumerate(self)}


def method_of(writer: Hashable) -> Hashable:
    """The id of the node of the method whose run has written a value."""
    return writer[0] if isinstance(writer, tuple) else writer


def _is_of_heir(writer: Hashable) -> bool:
    return isinstance(writer, tuple) and bool(writer) and isinstance(writer[-1], OfHeir)


def joined_without(by_writer: Mapping[Hashable, Value], methods: Container[Hashable]) -> Value:
    """The join of what methods other than these have left; BOTTOM if nothing."""
    left = [value for writer, value in by_writer.items() if method_of(writer) not in methods]
    return in_any_order(reduce(join, left, BOTTOM), left)


def in_any_order(merged: Value, left: Iterable[Value]) -> Value:
    """The join of what methods have left in an attribute: if one of them has reduced it, after which calls is unknown.

    `update` adds this rank's own numbers, `sync` reduces them: a later call may read either.
    """
    if merged.rank.differs and any(each.rank.is_reduced for each in left):
        return merged.replace(rank=ranks.UNKNOWN)
    return merged


def join_reduced(known: Cell, new: Cell, merged: Cell) -> Cell:
    """Join two contents of an object's container; what is reduced in only one of them has an unknown rank.

    `add` fills it with rank-local values, `sync` reduces them: which state a later call reads is unknown. Nor is it
    known after one method that does both and calls others in between, as these read what it has left so far.
    """
    unsure = {
        key: value.replace(rank=ranks.UNKNOWN)
        for key, value in merged.entries.items()
        if value.rank.differs
        and any(key in each.entries and each.entries[key].rank.is_reduced for each in (known, new))
    }
    if not unsure:
        return merged
    return merged.holding({**merged.entries, **unsure}, merged.rest)


def may_be_wrapped(value: Value) -> bool:
    """Whether it is a model that is wrapped on at least one path."""
    return wrapping_of(value) in WRAPPED_ON_SOME_WAY


def is_number_of_rank(value: Value) -> bool:
    """Whether it is the number of the rank. On one process, that is known, too, whatever a base has left.

    self.rank = 0                                                                in a base
    if accelerator.num_processes > 1: self.rank = accelerator.process_index      in a class of that base
    """
    return value.rank.is_by_rank and single_process_value(value) is not None


def without_plain_constant(value: Value) -> Value:
    """Drop a plain constant, as other code may change the attribute; keep one that depends on the world.

    That an object has been created is kept: what else is assigned to the attribute is joined with it.
    """
    if value.const in (CREATED, MISSING, NONE_ON_SOME) or isinstance(value.const, World):
        return value
    return value.replace(const=MISSING)

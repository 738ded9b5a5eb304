"""Absence: some ranks lack a value, because only the others run the code that binds it.

    if is_main_process:
        writer = SummaryWriter()          `writer`: not bound on the other ranks
    run = init() if rank == 0 else None   `run`: None on the other ranks
    run = None
    if rank == 0:
        run = init()                      `run`: None on the other ranks
    run = agreed(run)                     unknown
    stop = False
    if rank == 0:
        stop = check()                    `stop`: a constant flag on the other ranks
    else: found = [None] * count          `found`: a list of None on the other ranks, if the branch above fills it

>>> from trl_lint.domain.provenance import Step
>>> step = Step(None, None, "")
>>> here = Absence(step, True, step, Instead.NOTHING, test="rank == 0")
>>> joined(here, None, None, Instead.NONE).instead  # None in the other branch
<Instead.NONE: 'None'>
>>> joined(here, None, None, None) is None  # a value that all ranks may have
True
>>> joined(here, None, here, None) is here
True
>>> also = Absence(step, True, step, Instead.NOTHING, test="x and rank == 0", rank_test="rank == 0")
>>> joined(here, None, also, None) is here  # the other ranks lack both
True
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step


# The text of a test that is a decorator begins with this.
BY_DECORATOR = "@"


class Instead(Enum):
    """What ranks have that lack a value: nothing (it is not bound there), None, a list of these, or a constant flag."""

    NOTHING = "nothing"
    NONE = "None"
    NONES = "a list of None"
    FLAG = "a constant flag"


# What may be joined with each other: a use fails in both cases.
_NO_VALUE = frozenset({Instead.NOTHING, Instead.NONE})


@dataclass(slots=True, eq=False, repr=False)
class Absence:
    """That some ranks lack a value, and what they have instead.

    condition: the test, or the decorator, that decides which ranks, with its code in `test`; in `rank_test`, that of
    the part of it which asks for the rank, if there are others. holds: its result on the ranks that have the value.
    bound: where they bind it. owner: the function (or module) with the test. around: the ids of the test nodes of the
    conditions around both branches.
    """

    condition: Step
    holds: bool
    bound: Step
    instead: Instead
    _: KW_ONLY
    test: str = ""
    rank_test: str = ""
    owner: object = None
    around: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What distinguishes one absence from another."""
        return self.test, self.holds, self.instead, id(self.bound.node)

    @property
    def is_by_decorator(self) -> bool:
        """Whether a decorator decides which ranks run the function that binds the value."""
        return self.test.startswith(BY_DECORATOR)

    @property
    def is_none(self) -> bool:
        """Whether the ranks that lack the value have None."""
        return self.instead is Instead.NONE

    @property
    def is_unbound(self) -> bool:
        """Whether reading the value fails on the ranks that lack it."""
        return self.instead is Instead.NOTHING

    def is_as(self, rank_test: str, holds: bool) -> bool:
        """Whether only ranks have the value on which a test of the rank has the result `holds`, if not all of these.

        `if flag and rank == 0:` and `if rank == 0:` are alike to all others.
        """
        return (self.asked, self.holds) == (rank_test, holds)

    @property
    def asked(self) -> str:
        """The code of the part of the test which asks for the rank, if that is known apart."""
        return self.rank_test or self.test

    def with_other(self, instead: Instead) -> Absence:
        """The same absence, with None or a constant flag on the ranks that lack the value."""
        return self if self.instead is instead else replace(self, instead=instead)


def joined(a: Absence | None, a_is: Instead | None, b: Absence | None, b_is: Instead | None) -> Absence | None:
    """The absence of the join of two values.

    a_is, b_is: what ranks may have instead of another value, if all of them have it: None, or a constant flag.
    """
    if a is b:
        return a
    if a is None or b is None:
        known, other = (a, b_is) if a is not None else (b, a_is)
        return None if known is None else _with_other(known, other)
    if not a.is_as(b.asked, b.holds) or (a.instead is not b.instead and not {a.instead, b.instead} <= _NO_VALUE):
        return None
    return b if b.is_none else a


def _with_other(known: Absence, other: Instead | None) -> Absence | None:
    """The absence of the join with a value that all ranks have."""
    if known.instead not in _NO_VALUE:
        return known if other is known.instead else None
    return known.with_other(other) if other is Instead.NONE else None


def same_absence(a: Absence | None, b: Absence | None) -> bool:
    """Whether two absences, or their lack, are the same."""
    return a is b or (a is not None and b is not None and a.key == b.key)

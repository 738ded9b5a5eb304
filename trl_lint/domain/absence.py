"""Absence: some ranks lack a value, because only the others run the code that binds it.

    if is_main_process:
        writer = SummaryWriter()          `writer`: not bound on the other ranks
    run = init() if rank == 0 else None   `run`: None on the other ranks
    run = None
    if rank == 0:
        run = init()                      `run`: None on the other ranks
    run = agreed(run)                     unknown

>>> from trl_lint.domain.provenance import Step
>>> step = Step(None, None, "")
>>> here = Absence(step, True, step, is_none=False, test="rank == 0")
>>> joined(here, False, None, True).is_none  # None in the other branch
True
>>> joined(here, False, None, False) is None  # a value that all ranks may have
True
>>> joined(here, False, here, False) is here
True
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step


@dataclass(slots=True, eq=False, repr=False)
class Absence:
    """That some ranks lack a value: they have None instead (`is_none`), or it is not bound there.

    condition: the test that decides which ranks, with its code in `test`. holds: its result on the ranks that have the
    value. bound: where they bind it. owner: the function (or module) with the test. around: the ids of the test nodes
    of the conditions around both branches.
    """

    condition: Step
    holds: bool
    bound: Step
    _: KW_ONLY
    is_none: bool
    test: str = ""
    owner: object = None
    around: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What distinguishes one absence from another."""
        return self.test, self.holds, self.is_none, id(self.bound.node)

    def is_as(self, test: str, holds: bool) -> bool:
        """Whether the ranks that have the value are those on which `test` has the result `holds`."""
        return (self.test, self.holds) == (test, holds)

    def as_none(self) -> Absence:
        """The same absence, with None on the ranks that lack the value."""
        return self if self.is_none else replace(self, is_none=True)


def joined(a: Absence | None, a_is_none: bool, b: Absence | None, b_is_none: bool) -> Absence | None:
    """The absence of the join of two values. a_is_none, b_is_none: whether the value is None on all ranks."""
    if a is b:
        return a
    if a is None or b is None:
        known, other_is_none = (a, b_is_none) if a is not None else (b, a_is_none)
        return known.as_none() if known is not None and other_is_none else None
    if not a.is_as(b.test, b.holds):
        return None
    return b if b.is_none else a


def same_absence(a: Absence | None, b: Absence | None) -> bool:
    """Whether two absences, or their lack, are the same."""
    return a is b or (a is not None and b is not None and a.key == b.key)

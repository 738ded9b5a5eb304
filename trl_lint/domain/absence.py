"""Absence: on some ranks a value is not there, as only the others have got to where it is bound.

if is_main_process:
    writer = SummaryWriter()          `writer`: not bound on the other ranks
run = init() if rank == 0 else None   `run`: None on the other ranks
run = None
if rank == 0:
    run = init()                      `run`: None on the other ranks
run = agreed(run)                     nothing is known

>>> from trl_lint.domain.provenance import Step
>>> step = Step(None, None, "")
>>> here = Absence(step, True, step, is_none=False, test="rank == 0")
>>> joined(here, False, None, True).is_none  # with a None on another way
True
>>> joined(here, False, None, False) is None  # with something that all ranks may have
True
>>> joined(here, False, here, False) is here
True
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step


class Absence:
    """What some ranks lack: they have None in its place (`is_none`), or nothing is bound there.

    condition: what decides on it, at the node of the test, whose code is `test`. holds: how that comes out on the ranks
    that have the value. bound: where they get it. owner: the function that it was found in. around: the places of the
    conditions under which both ways were gone.
    """

    __slots__ = ("around", "bound", "condition", "holds", "is_none", "owner", "test")

    def __init__(
        self,
        condition: Step,
        holds: bool,
        bound: Step,
        *,
        is_none: bool,
        test: str = "",
        owner: object = None,
        around: frozenset[int] = frozenset(),
    ) -> None:
        self.condition = condition
        self.holds = holds
        self.bound = bound
        self.is_none = is_none
        self.test = test
        self.owner = owner
        self.around = around

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What tells one from another."""
        return self.test, self.holds, self.is_none, id(self.bound.node)

    def is_as(self, test: str, holds: bool) -> bool:
        """Whether the ranks that have the value are those on which a test comes out so."""
        return (self.test, self.holds) == (test, holds)

    def as_none(self) -> Absence:
        """The same, where those that lack it have None."""
        if self.is_none:
            return self
        found = Absence(self.condition, self.holds, self.bound, is_none=True, test=self.test)
        found.owner, found.around = self.owner, self.around
        return found


def joined(a: Absence | None, a_is_none: bool, b: Absence | None, b_is_none: bool) -> Absence | None:
    """What ranks lack of a value that is one or the other of two. a_is_none, b_is_none: that it is None for all."""
    if a is b:
        return a
    if a is None or b is None:
        known, other_is_none = (a, b_is_none) if a is not None else (b, a_is_none)
        return known.as_none() if known is not None and other_is_none else None
    if not a.is_as(b.test, b.holds):
        return None
    return b if b.is_none else a


def same_absence(a: Absence | None, b: Absence | None) -> bool:
    """Whether ranks lack two values alike."""
    return a is b or (a is not None and b is not None and a.key == b.key)

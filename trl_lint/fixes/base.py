"""What a fix is: the plan for the event of a violation, and what may be said of it."""

from __future__ import annotations

from typing import ClassVar, Generic

from trl_lint.analysis.events import Event, EventT, types_of
from trl_lint.domain.control import Uniformity
from trl_lint.findings import Applicability
from trl_lint.fixes.support.edits import FixPlan, NoFix


class RuleFix(Generic[EventT]):
    """How one rule's violations are mended: `class MyFix(RuleFix[CollectiveCalled])` plans it for events of that class.

    Of the rule's other events it is for the author to mend them.
    """

    # The classes of the events that it mends.
    events: ClassVar[tuple[type[Event], ...]]
    # What it does, in a few words.
    title: ClassVar[str] = ""
    # Whether its new code is a collective where the event is, so that all ranks have to get there together. One that is
    # none is as safe on some ranks as on all, or its plan looks at the place itself.
    is_collective: ClassVar[bool] = True
    # What communicates in the new code, where that does not go without saying.
    communication: ClassVar[str] = ""
    # How far it may be trusted, by its own plans and by the places where it is made.
    applicabilities: ClassVar[tuple[Applicability, ...]] = tuple(Applicability)
    # The codes of other rules' findings that were there before, on the same value, and are only seen once it is made.
    uncovers: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.events = types_of(cls)

    def plan(self, event: EventT) -> FixPlan | NoFix:
        """How to mend it, or why that is left to the author."""
        raise NotImplementedError

    def title_for(self, event: EventT) -> str:
        return self.title

    def uniformity(self, event: EventT) -> Uniformity:
        """Whether all ranks get together to the collective in its new code."""
        return event.control.uniformity if self.is_collective else Uniformity.UNIFORM

"""The base class of fixes: the plan for the event of a violation, and the fix's properties."""

from __future__ import annotations

from typing import ClassVar, Generic

from trl_lint.analysis.event_types import EventT, types_of
from trl_lint.analysis.events import Event
from trl_lint.domain.control import Uniformity
from trl_lint.findings import Applicability
from trl_lint.fixes.support.edits import FixPlan, NoFix


class RuleFix(Generic[EventT]):
    """The fix for violations of one rule: `class MyFix(RuleFix[CollectiveCalled])` plans it for events of that class.

    Violations with other events of the rule are left to the author.
    """

    # The classes of the events that it fixes.
    events: ClassVar[tuple[type[Event], ...]]
    # What it does, in a few words.
    title: ClassVar[str] = ""
    # Whether the new code contains a collective at the place of the event, so that all ranks have to reach it together.
    # Otherwise the fix is as safe on some ranks as on all, or its plan checks the place itself.
    is_collective: ClassVar[bool] = True
    # What communicates in the new code, if that is not obvious.
    communication: ClassVar[str] = ""
    # The applicabilities it can have, depending on its plans and on the places where it is applied.
    applicabilities: ClassVar[tuple[Applicability, ...]] = tuple(Applicability)
    # The codes of other rules' findings on the same value that existed before but become visible only after the fix.
    uncovers: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.events = types_of(cls)

    def plan(self, event: EventT) -> FixPlan | NoFix:
        """The plan of the fix, or why it is left to the author."""
        raise NotImplementedError

    def title_for(self, event: EventT) -> str:
        return self.title

    def uniformity(self, event: EventT) -> Uniformity:
        """Whether all ranks reach the collective in the new code together."""
        return event.control.uniformity if self.is_collective else Uniformity.UNIFORM

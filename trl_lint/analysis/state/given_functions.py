"""Functions that a library is given, and will call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value


class GivenFunction(NamedTuple):
    """A function that a library will call with values of these facts.

    Attributes:
        cls: For a method, the class of the object that it is bound to.
        given: The place where it is passed, if that is in another file.
        called_back: Whether it is part of what the library does, as a reward is, and not a program that it starts.
        several: Whether it is run by several processes, as far as is known, and not by one that is started for it.
    """

    function: FunctionInfo
    parameters: Mapping[str, Value]
    cls: ClassInfo | None = None
    given: Step | None = None
    called_back: bool = True
    several: bool = True

    def note_run(self, trace: EventTrace) -> None:
        """Note on a run of the function what the library runs it for."""
        if self.several:
            trace.launch(self.given)
        trace.called_back |= self.called_back
        trace.in_processes |= not self.called_back

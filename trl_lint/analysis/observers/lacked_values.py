"""Values that only some ranks have, used where the other ranks run as well.

The events of a program:

    if rank == 0:
        writer = SummaryWriter()
    writer.add_scalar("loss", loss)        ValueLacked: `writer` is not bound on the others
    log = open("x") if rank == 0 else None
    print(log)                             nothing: the others print None
    log.write("x")                         ValueLacked: None has no such attribute
    if rank == 0: writer.flush()           nothing: only one rank reaches this
    else: writer.close()                   ValueLacked: only the others reach this
    if log is not None: log.flush()        nothing: only that rank reaches this, too
    if asked(): writer.close()             nothing: `asked()` may be true on that rank only
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, ValueLacked
from trl_lint.analysis.state.observing import Observer, Reached
from trl_lint.analysis.transfer.processes import lacking_ranks

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.absence import Absence


class LackedValues(Observer["Frame"]):
    emits = frozenset({ValueLacked})

    def on_lacked(self, frame: Frame, node: cst.CSTNode, absence: Absence) -> None:
        if lacking_ranks.fail_at(frame, node, absence):
            is_here = absence.owner is (frame.function or frame.module)
            frame.emit(ValueLacked, node, absence=absence, is_here=is_here, accelerator=frame.accelerator())

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """A function that tests the rank itself runs in several processes; others must be known to be launched so."""
        if not isinstance(event, ValueLacked) or event.is_here:
            return event
        return replace(event, called=reached.called) if reached.launched else None


OBSERVER = LackedValues()

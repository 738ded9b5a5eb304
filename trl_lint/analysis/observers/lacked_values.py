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
    trainer.train(last)                    ValueLacked(resumes=True), if `last` is None on the others
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, ValueLacked
from trl_lint.analysis.state.observing import Observer, Reached
from trl_lint.analysis.transfer.processes import lacking_ranks
from trl_lint.knowledge.transformers import RESUMES

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.absence import Absence
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


class LackedValues(Observer["Frame"]):
    emits = frozenset({ValueLacked})

    def on_lacked(self, frame: Frame, node: cst.CSTNode, absence: Absence) -> None:
        if lacking_ranks.fail_at(frame, node, absence):
            self._emit(frame, node, absence)

    @staticmethod
    def _emit(frame: Frame, node: cst.CSTNode, absence: Absence, *, resumes: bool = False) -> None:
        is_here = absence.owner is (frame.function or frame.module)
        accelerator = frame.accelerator()
        frame.emit(ValueLacked, node, absence=absence, is_here=is_here, resumes=resumes, accelerator=accelerator)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        """`trainer.train(resume_from_checkpoint=last)`: with None, a training begins with the first step."""
        passed = RESUMES.get("" if row is None else row.name)
        argument = None if passed is None else args.node(*passed)
        value = None if passed is None else args.get(*passed)
        if argument is None or value is None or value.absence is None or not value.absence.is_none:
            return
        if lacking_ranks.fail_at(frame, argument.value, value.absence):
            self._emit(frame, argument.value, value.absence, resumes=True)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        """A function that tests the rank itself runs in several processes; others must be known to be launched so."""
        if not isinstance(event, ValueLacked) or event.is_here:
            return event
        return replace(event, called=reached.called) if reached.launched else None


OBSERVER = LackedValues()

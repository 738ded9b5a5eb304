"""Learning-rate schedules that go by a metric: each process decides by the value that it passes.

Events of a program with `schedule = ReduceLROnPlateau(optimizer)`, whose `loss` is of this rank's own batches:

    schedule.step(loss)                               ScheduleStepped
    schedule.step(accelerator.reduce(loss, "mean"))   none: all ranks pass the same value
    dist.reduce(loss, dst=0); schedule.step(loss)     ScheduleStepped, as only the first rank has the result
    cosine.step(epoch)                                none: other schedules count
    if main: schedule.step(loss)                      none: one rank steps alone (`lone_schedule_steps.py`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import ScheduleStepped
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.knowledge.schedules import METRIC_OF_STEP, PLATEAU, STEP

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class PlateauSchedules(Observer["Frame"]):
    emits = frozenset({ScheduleStepped})

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        is_by_metric = isinstance(receiver, LibraryInstance) and receiver.name == PLATEAU
        if name != STEP or not is_by_metric or not isinstance(node, cst.Call) or is_test(frame.function):
            return
        value, passed = args.get(*METRIC_OF_STEP), args.node(*METRIC_OF_STEP)
        if value is None or passed is None or frame.memory.control.is_of_some_ranks:
            return
        if (value.rank.differs and value.rank.is_of_own_data) or value.rank.is_of_root:
            frame.emit(ScheduleStepped, node, value=value, metric=passed.value)


OBSERVER = PlateauSchedules()

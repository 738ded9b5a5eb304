"""Learning-rate schedules that make a step in each epoch, where `prepare` gets them.

Events of a program that trains in a loop over batches in each epoch, and then calls the step of its schedule:

    schedule = StepLR(optimizer, step_size=30)                     EpochSchedulePrepared, at this call
    other = StepLR(optimizer, 30 * accelerator.num_processes)      none: its epochs count the processes
    kept = ExponentialLR(optimizer, 0.9)                           none: it is not prepared
    schedule, other = accelerator.prepare(schedule, other)
    ...
    schedule.step()

There is none if it is called in some epochs only, or in the loop over batches as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.prepared_names import calls_behind, names_of, step_for_each_process
from trl_lint.analysis.program.idioms.returned_calls import returned_calls
from trl_lint.analysis.program.idioms.step_counts import ReadAt, counts_processes
from trl_lint.analysis.program.syntax import ancestors, innermost, last_name, of_class
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.trainer_events import EpochSchedulePrepared
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.schedules import OF_EPOCHS, OF_TORCH, STEP

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


class SchedulesOfEpochs:
    """The ids of the calls of a file that make such schedules."""

    def __init__(self) -> None:
        self.calls: set[int] = set()


class EpochSchedules(Observer["Frame"]):
    emits = frozenset({EpochSchedulePrepared})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if not (name.startswith(OF_TORCH) and name.removeprefix(OF_TORCH) in OF_EPOCHS) or not isinstance(
            node, cst.Call
        ):
            return
        place = ReadAt(frame.module.tree, frame.root, node)
        if not any(_counts_steps(place, each.value) for each in node.args):
            frame.module.notes.of(SchedulesOfEpochs).calls.add(id(node))
            frame.engine.note_stored(SchedulesOfEpochs, frame.module, id(node))

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        made = frame.module.notes.of(SchedulesOfEpochs).calls
        if name != PREPARE or not made or not isinstance(node, cst.Call) or not step_for_each_process(frame.module):
            return
        for each in node.args:
            for call in () if each.star else _makers_of(frame, each.value):
                if id(call) in made and (stepped := _step_of_epoch(frame.module.tree, node, each.value)) is not None:
                    frame.emit(EpochSchedulePrepared, call, prepared=node, stepped=stepped)


def _makers_of(frame: Frame, prepared: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls that make what is prepared, also those whose results a function of the file returns."""
    for call in calls_behind(frame.module.tree, frame.root, prepared):
        yield call
        helper = function_of(frame, call.func)
        if helper is not None and helper.module is frame.module and isinstance(helper.node, cst.FunctionDef):
            yield from returned_calls(helper.node)


def _counts_steps(place: ReadAt, number: cst.BaseExpression) -> bool:
    """Whether a number counts the processes, or the batches of a loader."""
    counted = (last_name(each.func) == "len" for each in of_class(number, cst.Call))
    return any(counted) or counts_processes(place, number)


def _step_of_epoch(tree: cst.Module, prepare: cst.Call, prepared: cst.BaseExpression) -> cst.Call | None:
    """The step of a prepared schedule, if each one that the file has comes once in each epoch."""
    names = names_of(tree, prepare, prepared)
    steps = [each for each in of_class(tree, cst.Call) if _is_step_of(each, names)]
    return steps[0] if steps and all(_is_of_epoch(tree, each) for each in steps) else None


def _is_step_of(call: cst.Call, names: set[str]) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == STEP and last_name(call.func.value) in names


def _is_of_epoch(tree: cst.Module, step: cst.Call) -> bool:
    """Whether a step comes in each turn of a loop, beside another loop that trains. A number sets the epoch itself."""
    loop = innermost(tree, step, cst.For, cst.While, cst.FunctionDef)
    if step.args or not isinstance(loop, cst.For):
        return False
    around = ancestors(loop, step)
    return not any(isinstance(each, (cst.If, cst.Try)) for each in around) and any(_training_loops(loop))


def _training_loops(epochs: cst.For) -> Iterator[bool]:
    """Whether each loop in one over epochs makes steps of the training."""
    for loop in of_class(epochs, cst.For):
        yield loop is not epochs and any(last_name(each.func) == "backward" for each in of_class(loop, cst.Call))


OBSERVER = EpochSchedules()

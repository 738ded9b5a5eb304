"""Learning-rate schedules that make a step in each epoch, where `prepare` gets them.

Events of a program that trains in a loop over batches in each epoch, and then calls the step of its schedule:

    schedule = StepLR(optimizer, step_size=30)                     EpochSchedulePrepared, at this call
    other = StepLR(optimizer, 30 * accelerator.num_processes)      none: its epochs count the processes
    kept = ExponentialLR(optimizer, 0.9)                           none: it is not prepared
    schedule, other = accelerator.prepare(schedule, other)
    ...
    schedule.step()

There is none if it is called in some epochs only, or in the loop over batches as well, nor if the loop around that
one is over batches, too, or over steps: `for batch in loader: for turn in range(4): …`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms.prepared_names import calls_behind, names_of, step_for_each_process
from trl_lint.analysis.program.idioms.returned_calls import returned_calls
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    innermost,
    last_name,
    names_in,
    of_class,
    parts_of_target,
)
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.trainer_events import EpochSchedulePrepared
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.heuristics import COUNTS_PROCESSES, IS_LOADER
from trl_lint.knowledge.schedules import OF_EPOCHS, OF_TORCH, OPTIMIZER, STEP

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row

# How far the number of a schedule is followed through names, and what counts the batches of a loader.
_DEPTH = 3
_COUNT = "len"


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
        optimizer = args.node(*OPTIMIZER)
        aside = set() if optimizer is None else names_in(optimizer)  # its own rate may count the processes
        numbers = (each.value for each in node.args if each is not optimizer)
        if not any(_counts_steps(frame.module.tree, each, aside) for each in numbers):
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


def _counts_steps(tree: cst.Module, number: cst.BaseExpression, aside: set[str]) -> bool:
    """Whether a number, or a function of the file for it, counts the processes, or the batches of a loader.

    aside: names that are not followed.
    """
    names = names_in(number)
    behind: list[cst.CSTNode] = [each for each in of_class(tree, cst.FunctionDef) if each.name.value in names]
    todo = names.union(*map(names_in, behind))
    if _COUNT in todo:
        return True
    seen = set(aside)
    for _ in range(_DEPTH):
        if any(map(COUNTS_PROCESSES.fits, todo)):
            return True
        todo -= seen
        seen |= todo
        given = [value for target, value in assignments(tree) if not todo.isdisjoint(_names_of_parts(target))]
        todo = set().union(*map(names_in, given))
    return False


def _names_of_parts(target: cst.BaseExpression) -> set[str]:
    return {last_name(each) for each in parts_of_target(target)}


def _step_of_epoch(tree: cst.Module, prepare: cst.Call, prepared: cst.BaseExpression) -> cst.Call | None:
    """The step of a prepared schedule, if each one that the file has comes once in each epoch."""
    names = names_of(tree, prepare, prepared)
    steps = [each for each in of_class(tree, cst.Call) if _is_step_of(each, names)]
    batches = set().union(*(names_of(tree, prepare, each.value) for each in prepare.args))
    return steps[0] if steps and all(_is_of_epoch(tree, each, batches) for each in steps) else None


def _is_step_of(call: cst.Call, names: set[str]) -> bool:
    match call.func:
        case cst.Attribute(value=cst.Attribute(value=owner)) if last_name(owner) in names:
            return False  # the schedule that is wrapped makes one step: `scheduler.scheduler.step()`
        case cst.Attribute(value=stepped, attr=cst.Name(method)):
            return method == STEP and last_name(stepped) in names
    return False


def _is_of_epoch(tree: cst.Module, step: cst.Call, batches: set[str]) -> bool:
    """Whether a step comes in each turn of a loop, beside another loop over batches that trains.

    A number sets the epoch itself. batches: what code calls prepared things, loaders among them.
    """
    loop = innermost(tree, step, cst.For, cst.While, cst.FunctionDef)
    if step.args or not isinstance(loop, cst.For):
        return False
    inside, outside = ancestors(loop, step), (loop, *ancestors(tree, loop))
    return (
        not any(isinstance(each, (cst.If, cst.Try)) for each in inside)
        and not any(isinstance(each, cst.For) and _is_over_batches(each, batches) for each in outside)
        and any(_is_over_batches(each, batches) and _trains(each) for each in of_class(loop.body, cst.For))
    )


def _is_over_batches(loop: cst.For, batches: set[str]) -> bool:
    names = names_in(loop.iter)
    return not names.isdisjoint(batches) or any(map(IS_LOADER.fits, names))


def _trains(loop: cst.For) -> bool:
    return any(last_name(each.func) == "backward" for each in of_class(loop, cst.Call))


OBSERVER = EpochSchedules()

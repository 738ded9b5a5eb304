"""Learning-rate schedules that one rank steps alone, in a loop in which all ranks train.

Events of `for epoch in range(epochs): train(model, loader, optimizer)` with one of these behind the training:

    if rank == 0: schedule.step()     LoneScheduleStep: the others keep the rate that they began with
    if epoch > 9: schedule.step()     none: all ranks make it

There is none if `train` is in the branch as well, or the step of an optimizer: that rank trains alone. Nor if the
branch makes the schedule, if the loop steps it elsewhere, too, or if it, or a function that it calls, may send the
rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.gradient_events import LoneScheduleStep
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.syntax import LOOPS, ancestors, assignments, innermost, names_in, of_class
from trl_lint.analysis.state.callees import function_of, library_function_of
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.loader_loops import training_calls
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.schedules import OF_TORCH, SEND_RATES, STEP

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value


class LoneScheduleSteps(Observer["Frame"]):
    emits = frozenset({LoneScheduleStep})

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name != STEP or not library_name_of(receiver).startswith(OF_TORCH) or is_test(frame.function):
            return
        for condition in frame.memory.control.conditions:
            if condition.rank.is_by_rank and isinstance(node, cst.Call):
                branch = _branch_of(frame, condition, node)
                if branch is not None and _trains_beside(frame, branch) and _is_left_out(frame, branch, node):
                    frame.emit(LoneScheduleStep, node, condition=condition.provenance, test=branch.test)
                    return


def _branch_of(frame: Frame, condition: Control, step: cst.Call) -> cst.If | None:
    """The branch in which a step is made because of a condition, if no other ranks have one of their own."""
    test = place_of(condition)
    around = (each for each in ancestors(frame.root, step) if isinstance(each, cst.If))
    return next((each for each in around if each.test is test and each.orelse is None), None)


def _trains_beside(frame: Frame, branch: cst.If) -> bool:
    """Whether the loop around a branch trains, in each turn and outside of the branch only."""
    loop = innermost(frame.root, branch, *LOOPS)
    if not isinstance(loop, cst.For):
        return False
    inside = {id(each) for each in of_class(branch, cst.Call)}
    found = [id(each) in inside for each in training_calls(frame, loop.body)]
    return bool(found) and not any(found)


def _is_left_out(frame: Frame, branch: cst.If, step: cst.Call) -> bool:
    """Whether the schedule is that of the training of all ranks, as far as is known, and the others don't step it."""
    loop = innermost(frame.root, branch, *LOOPS)
    if loop is None or not isinstance(step.func, cst.Attribute) or _may_send(frame, loop):
        return False
    schedule, inside = step.func.value, {id(each) for each in of_class(branch, cst.Call)}
    if any(target.deep_equals(schedule) for target, _ in assignments(branch)):
        return False
    for call in of_class(loop, cst.Call):
        match call.func:
            case cst.Attribute(value=stepped, attr=cst.Name(value=name)) if name == STEP:
                is_same = stepped.deep_equals(schedule)
                is_of_other = not is_same and not library_function_of(frame, stepped).startswith(OF_TORCH)
                if is_of_other if id(call) in inside else is_same:
                    return False
    return True


def _may_send(frame: Frame, loop: cst.CSTNode) -> bool:
    """Whether a loop, or a function that it calls, may send the others what the step has changed."""
    called = (function_of(frame, each.func) for each in of_class(loop, cst.Call))
    code = (loop, *(each.node for each in called if each is not None))
    return any(not SEND_RATES.isdisjoint(names_in(each)) for each in code)


OBSERVER = LoneScheduleSteps()

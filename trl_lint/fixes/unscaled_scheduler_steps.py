"""The fix for a schedule whose length does not count the processes: multiply it by their number."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import SchedulePrepared
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace

_NO_NAME = "the Accelerator has no name where the schedule is made"
_NOT_WRITTEN = "not all numbers of steps are written in the call as they are in the settings"
_FILLED_IN = "where the number is not given, it is computed, and that one may count the batches of all processes"
_OTHERWISE = "it changes the schedule on one process too"


class UnscaledSchedulerStepsFix(RuleFix[SchedulePrepared]):
    title = "Multiply the steps by the number of processes"
    is_collective = False

    def plan(self, event: SchedulePrepared) -> FixPlan | NoFix:
        """The plan to multiply the lengths, or why that is left to the author."""
        schedule = event.schedule
        if schedule.steps.filled_in:
            return NoFix(_FILLED_IN)
        if not schedule.accelerator:
            return NoFix(_NO_NAME)
        if not schedule.scaled:
            return NoFix(_NOT_WRITTEN)
        factor = cst.parse_expression(f"{schedule.accelerator}.num_processes")
        accumulation = schedule.steps.accumulation if schedule.accumulates else None
        edits = tuple(Replace(*_scaled(each, factor, accumulation)) for each in schedule.scaled)
        return FixPlan(edits, caution=_OTHERWISE if accumulation is not None else "")


def _scaled(
    number: cst.BaseExpression, factor: cst.BaseExpression, replaced: cst.BaseExpression | None
) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    """The expression to replace, and by what: a number by its product, or the factor for accumulation in one."""
    if replaced is not None and isinstance(number, cst.BinaryOperation):
        return next(each for each in (number.right, number.left) if each.deep_equals(replaced)), factor
    return number, cst.BinaryOperation(number, cst.Multiply(), factor)

"""The fix for epochs in the same order: tell the sampler the epoch, in the first line of the loop."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.data_events import EpochsAlike
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import certainly_bound
from trl_lint.fixes.support.edits import FixPlan, Insert, NoFix
from trl_lint.fixes.support.scope import scope_of

_CHANGES = "it changes the order of the rows from the second epoch on"


class MissingSetEpochFix(RuleFix[EpochsAlike]):
    title = "Tell the sampler the epoch"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: EpochsAlike) -> FixPlan | NoFix:
        """The plan to call `set_epoch` first in the loop, or why that is left to the author."""
        if event.again:
            return NoFix("nothing here counts the epochs")
        epoch = _variable(event.loop)
        if not epoch:
            return NoFix("the loop has no variable that counts the epochs")
        root = scope_of(event.function, event.module)
        if not event.setter or not certainly_bound(root, event.setter.partition(".")[0], event.loop):
            return NoFix("no name here is certain to be the sampler")
        first = event.loop.body.body[0] if isinstance(event.loop.body, cst.IndentedBlock) else None
        if not isinstance(first, cst.BaseStatement):
            return NoFix("the loop is on one line")
        return FixPlan((Insert(first, f"{event.setter}.set_epoch({epoch})"),), caution=_CHANGES)


def _variable(loop: cst.For | cst.While) -> str:
    """The variable of a loop that counts the epochs: a name that says more than `_`."""
    target = loop.target if isinstance(loop, cst.For) else None
    return target.value if isinstance(target, cst.Name) and target.value.strip("_") else ""

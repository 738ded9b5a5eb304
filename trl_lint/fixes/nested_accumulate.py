"""The fix for a batch that is counted several times: one `accumulate` of all models."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.gradient_events import BatchCountedAgain
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, LeaveOut, NoFix, Replace

_CHANGES = "the optimizer steps less often then, on one process too, if several batches are accumulated"
_ELSEWHERE = "they are not in one `with` statement"
_ONE_MODEL = "`accumulate` takes several models from accelerate 0.22 on"
_EMPTY = cst.SimpleStatementSuite([cst.Pass()])
_PLAIN = (cst.Attribute, cst.Name, cst.Subscript)


class NestedAccumulateFix(RuleFix[BatchCountedAgain]):
    title = "Pass all models to one `accumulate`"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: BatchCountedAgain) -> FixPlan | NoFix:
        """The plan to leave only the first call, with the models of all, or why that is left to the author."""
        statement, calls = event.entered.statement, event.entered.calls
        if statement is None:
            return NoFix(_ELSEWHERE)
        if not event.entered.takes_several:
            return NoFix(_ONE_MODEL)
        items = [each for each in statement.items if any(each.item is call for call in calls)]
        if any(each.asname is not None for each in statement.items):
            return NoFix("the statement binds a name")
        written = event.module.tree.code_for_node(statement.with_changes(body=_EMPTY, leading_lines=[]))
        if "#" in written:
            return NoFix("there is a comment between them")
        models = [argument for call in calls for argument in call.args]
        if not all(each.keyword is None and isinstance(each.value, _PLAIN) for each in models):
            return NoFix("not all models are passed by their names")
        merged = calls[0].with_changes(args=_distinct(models))
        return FixPlan((Replace(calls[0], merged), LeaveOut(statement, tuple(items[1:]))), caution=_CHANGES)


def _distinct(models: list[cst.Arg]) -> list[cst.Arg]:
    """The arguments, each once, on one line."""
    found: list[cst.Arg] = []
    for each in models:
        if not any(each.star == known.star and each.value.deep_equals(known.value) for known in found):
            found.append(cst.Arg(each.value, star=each.star))
    return found

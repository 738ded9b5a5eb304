"""The fix for `gather_for_metrics` of one value per rank: `gather`, and nothing else changes."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace


class TruncatedGatherFix(RuleFix[CollectiveCalled]):
    title = "Gather all ranks' values"

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        """The plan to gather the values of all ranks, or why that is left to the author."""
        match event.node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="gather_for_metrics")) as func, args=[arg]):
                pass
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="gather_for_metrics"))):
                return NoFix("`gather` does not take these arguments")
            case _:
                return NoFix("the function is called under another name")
        if arg.star:
            return NoFix("the arguments are starred")
        call = event.node
        args = [arg if arg.keyword is None else arg.with_changes(keyword=cst.Name("tensor"))]
        renamed = func.with_changes(attr=cst.Name("gather"))
        return FixPlan((Replace(call, call.with_changes(func=renamed, args=args)),))

"""The fix for `gather_for_metrics` of one value per rank: `gather`, and nothing else changes."""

from __future__ import annotations

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.whole_gathers import of_all_ranks


class TruncatedGatherFix(RuleFix[CollectiveCalled]):
    title = "Gather all ranks' values"

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        """The plan to gather the values of all ranks, or why that is left to the author."""
        call = of_all_ranks(event.node)
        return call if isinstance(call, NoFix) else FixPlan((Replace(event.node, call),))

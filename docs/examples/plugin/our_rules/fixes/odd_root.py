"""The plan for a broadcast from another rank than the first: its root is left out."""

from __future__ import annotations

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace


class OddRootFix(RuleFix[CollectiveCalled]):
    title = "Send it from the first rank"

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        if len(event.node.args) > 2:
            return NoFix("it is given more than a root")
        tensor = event.node.args[0].with_changes(comma=event.node.args[-1].comma)
        return FixPlan((Replace(event.node, event.node.with_changes(args=[tensor])),))

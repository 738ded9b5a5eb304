"""The fix for a collective that a condition on the rank keeps from the others: move it before the condition."""

from __future__ import annotations

from trl_lint.analysis.events import Divergence
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix
from trl_lint.fixes.support.for_all_ranks import for_all_ranks
from trl_lint.knowledge.lightning import AUTOMATIC_BACKWARD

_TITLES = {
    "forward": "Run the forward pass on every rank",
    AUTOMATIC_BACKWARD: "Return a loss on every rank",
}


class DivergentCollectiveFix(RuleFix[Divergence]):
    is_collective = False  # the fix makes all ranks reach it; that is its purpose
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: Divergence) -> FixPlan | NoFix:
        return for_all_ranks(event)

    def title_for(self, event: Divergence) -> str:
        name = event.sync_point.name
        return _TITLES.get(name, f"Call `{name}` on every rank")

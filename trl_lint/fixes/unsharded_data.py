"""Fix."""

from __future__ import annotations

from trl_lint.analysis.events import UnshardedData
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix


class UnshardedDataFix(RuleFix[UnshardedData]):
    title = "Give each rank its share of the rows"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: UnshardedData) -> FixPlan | NoFix:
        return NoFix("x")

"""The fix for a loader that is told to shuffle beside a sampler: it shuffles only where there is none."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.data_events import ShuffledBesideSampler
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace

_NO_NAME = "the sampler has no name here"
_ELSEWHERE = "whether the loader shuffles is said elsewhere"


class SamplerWithShuffleFix(RuleFix[ShuffledBesideSampler]):
    title = "Shuffle only where there is no sampler"
    is_collective = False
    applicabilities = (Applicability.SAFE, Applicability.DISPLAY)

    def plan(self, event: ShuffledBesideSampler) -> FixPlan | NoFix:
        """The plan to ask for the sampler, or why that is left to the author."""
        if not isinstance(event.sampler, (cst.Name, cst.Attribute)):
            return NoFix(_NO_NAME)
        if not (isinstance(event.shuffle, cst.Name) and event.shuffle.value == "True"):
            return NoFix(_ELSEWHERE)
        asked = cst.ComparisonTarget(cst.Is(), cst.Name("None"))
        return FixPlan((Replace(event.shuffle, cst.Comparison(event.sampler, [asked])),))

"""Gather all values: `gather_for_metrics(loss)` becomes `gather(loss)`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class TruncatedGatherCommand(FindingCommand):
    DESCRIPTION = "Gather one value per rank with `gather` (TRL014)."
    CODE = "TRL014"

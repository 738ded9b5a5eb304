"""Divide the sums over all ranks once: `gather(x.sum() / n).mean()` becomes `x_sum / x_count`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class MeanOfMeansCommand(FindingCommand):
    DESCRIPTION = "Divide sums over all ranks by counts over all ranks, not the ranks' own (TRL007)."
    CODE = "TRL007"

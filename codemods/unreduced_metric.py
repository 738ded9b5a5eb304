"""Gather a metric where it is logged: `log(x.mean())` becomes `log(accelerator.gather(x.mean()).mean())`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class UnreducedMetricCommand(FindingCommand):
    DESCRIPTION = "Reduce logged metrics over the ranks (TRL003)."
    CODE = "TRL003"

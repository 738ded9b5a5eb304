"""(stub page of unreduced-metric)"""

from __future__ import annotations

from trl_lint.rules.base import Rule


class UnreducedMetric(Rule):
    code = "TRL003"
    name = "unreduced-metric"


RULES = (UnreducedMetric(),)

"""Every rank trains on all rows."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import UnshardedData
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation


class UnshardedDataRule(Rule[UnshardedData]):
    code = "TRL021"
    name = "unsharded-data"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: UnshardedData) -> Iterator[Violation]:
        if event.module.one_process:
            return
        yield Violation(event=event, message="x", provenance=event.loader, help="y", cause=id(event.loader.node))

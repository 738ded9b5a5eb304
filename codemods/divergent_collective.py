"""Have all ranks make a call that one of them makes: `if main: log(gather(x))` becomes `y = gather(x)` before it."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class DivergentCollectiveCommand(FindingCommand):
    DESCRIPTION = "Take collectives out of conditions on the rank (TRL006)."
    CODE = "TRL006"

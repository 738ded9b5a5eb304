"""Call the wrapped model: `accelerator.unwrap_model(model)(x)` becomes `model(x)`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class BypassedWrapperCommand(FindingCommand):
    DESCRIPTION = "Call the wrapped model where gradients are needed (TRL009)."
    CODE = "TRL009"

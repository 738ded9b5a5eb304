"""Read from the bare model: `model.config.x` becomes `self.x` or `accelerator.unwrap_model(model).config.x`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class WrappedModelAttributeCommand(FindingCommand):
    DESCRIPTION = "Read from the bare model what a wrapper does not have (TRL002)."
    CODE = "TRL002"

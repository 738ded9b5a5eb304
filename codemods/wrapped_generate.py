"""Prepare the wrapped model for generation: `self.model` becomes `self.model_wrapped`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class WrappedGenerateCommand(FindingCommand):
    DESCRIPTION = "Give `unwrap_model_for_generation` the wrapped model (TRL010)."
    CODE = "TRL010"

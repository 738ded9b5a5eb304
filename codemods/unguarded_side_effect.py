"""Let the main process alone do it: `if accelerator.is_main_process: wandb.log(…)`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class UnguardedSideEffectCommand(FindingCommand):
    DESCRIPTION = "Let the main process alone write what all processes share (TRL008)."
    CODE = "TRL008"

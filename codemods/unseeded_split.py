"""Draw alike on all ranks: `dataset.train_test_split(0.1, seed=training_args.seed)`."""

from __future__ import annotations

from trl_lint.codemods.base import FindingCommand


class UnseededSplitCommand(FindingCommand):
    DESCRIPTION = "Give a shuffle or split, of which each rank takes its share, the seed that all ranks have (TRL015)."
    CODE = "TRL015"

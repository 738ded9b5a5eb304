"""Variations of released files: a text that occurs there once, and its replacement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

REBUILDS = Path(__file__).parent / "cases" / "rebuilds.json"


@dataclass(frozen=True)
class Variation:
    """One file of one release of trl, changed in one place."""

    name: str
    release: str
    path: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """The source with the change.

        Raises:
            ValueError: `old` does not occur exactly once.
        """
        return turn_back(source.encode(), self.old, self.new)[0].decode()


def turn_back(mended: bytes, right: str, broken: str) -> tuple[bytes, int]:
    """The text with `right` (which occurs once) replaced by `broken`, and its line."""
    before, found, after = mended.partition(right.encode())
    if not found or right.encode() in after:
        raise ValueError(f"{right!r} does not stand exactly once in the mended text")
    return before + broken.encode() + after, before.count(b"\n") + 1


def _put_back() -> dict[str, Variation]:
    """The bugs that lived between two releases, by the id of their case: the release with the fix, reverted."""
    rows = json.loads(REBUILDS.read_text(encoding="utf-8"))
    return {row["id"]: Variation(row["id"], row["release"], row["file"], row["right"], row["broken"]) for row in rows}


_REBUILT = _put_back()
_TOKENS = _REBUILT["TRL-3048"]
_OF_RANK = """            if valid_mask.any():
                valid_advantages = advantages[valid_mask]
                valid_abs_advantages = abs_advantages[valid_mask]
                valid_weights = weights[valid_mask]
"""
_OF_ALL = """            kinds = (advantages, abs_advantages, weights)
            of_all = [torch.tensor(gather_object(kind[valid_mask].tolist())) for kind in kinds]
            valid_advantages, valid_abs_advantages, valid_weights = of_all
            if valid_advantages.numel() > 0:
"""
VARIATIONS = {
    row.name: row
    for row in (
        *_REBUILT.values(),
        # A form that was tried before the fix: tensors are gathered instead of a Python number, but their shapes differ
        # between the processes.
        Variation(
            "TRL-3048-half-fix",
            _TOKENS.release,
            _TOKENS.path,
            _TOKENS.old,
            'gather_for_metrics(inputs["attention_mask"]).sum().item()',
        ),
        # The advice of TRL006: all processes decide by the same number, so that all of them return, or none.
        *(
            Variation(
                f"{name}-same-return",
                "1.16.0",
                f"trl/experimental/{name.lower()}/{name.lower()}_trainer.py",
                "if distillation_logits.loss_mask.sum() == 0:",
                "if self.accelerator.gather(distillation_logits.loss_mask.sum()).sum() == 0:",
            )
            for name in ("SDFT", "SDPO")
        ),
        # The advice of TRL015: all ranks split by the same seed.
        Variation(
            "mixture-seed",
            "1.16.0",
            "trl/scripts/utils.py",
            "train_test_split(test_size=mixture_config.test_split_size)",
            "train_test_split(test_size=mixture_config.test_split_size, seed=42)",
        ),
        # The advice of TRL003 if some ranks may have no value: all ranks gather, whatever they have.
        Variation("IW-OPD-all-tokens", "1.16.0", "trl/experimental/iw_opd/iw_opd_trainer.py", _OF_RANK, _OF_ALL),
    )
}

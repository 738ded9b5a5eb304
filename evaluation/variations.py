"""Variations of released files: a text that stands there once, and what is put in its place."""

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
            ValueError: `old` does not stand in it exactly once.
        """
        return turn_back(source.encode(), self.old, self.new)[0].decode()


def turn_back(mended: bytes, right: str, broken: str) -> tuple[bytes, int]:
    """The text with `right` (which stands there once) turned back into `broken`, and the line it is on."""
    before, found, after = mended.partition(right.encode())
    if not found or right.encode() in after:
        raise ValueError(f"{right!r} does not stand exactly once in the mended text")
    return before + broken.encode() + after, before.count(b"\n") + 1


def _put_back() -> dict[str, Variation]:
    """The bugs that lived between two releases, by the id of their case: the release that mended each, turned back."""
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
        # What was tried before the mended form: no Python number is gathered any more, but tensors whose shape
        # differs between the processes.
        Variation(
            "TRL-3048-half-fix",
            _TOKENS.release,
            _TOKENS.path,
            _TOKENS.old,
            'gather_for_metrics(inputs["attention_mask"]).sum().item()',
        ),
        # What TRL006 advises: all processes decide by the same number, so that all of them return, or none.
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
        # What TRL003 advises where not all ranks may have a value: all of them gather, whatever they have.
        Variation("IW-OPD-all-tokens", "1.16.0", "trl/experimental/iw_opd/iw_opd_trainer.py", _OF_RANK, _OF_ALL),
    )
}

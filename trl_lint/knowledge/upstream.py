"""Bugs of released trainers that a later release mended, by the function that had them.

`bench/upstream.py` makes the table from TRL's history and the releases themselves, and says where it is out of date.
"""

from __future__ import annotations

from typing import NamedTuple


class Mended(NamedTuple):
    """A function of a release, the bug it had, and the release that mended it.

    last: the last release with the bug. pull: the pull request that mended it. digests: those of the function's text
    (`trl_lint.upstream.digest`) in all releases that had the bug.
    """

    rule: str
    symbol: str
    last: str
    fixed: str
    pull: str
    digests: tuple[str, ...]


# fmt: off
ROWS: tuple[Mended, ...] = (
    Mended("TRL002", "DPOTrainer._compute_loss_liger", "1.8.0", "1.9.0", "#6372", (
        "1d5e876ebca6",
        "67aab5c50b9e",
        "e8b9af30c144",
        "562a5185fb28",
        "204e3fe55a9f",
        "dcce52ab6f47",
    )),
    Mended("TRL002", "OnlineDPOTrainer._generate", "0.16.1", "0.17.0", "#3225", (
        "3d6dfbaf680a",
    )),
    Mended("TRL002", "PPOTrainer._save_pretrained", "0.2.1", "0.3.0", "#157", (
        "0a6889a3ce47",
    )),
    Mended("TRL003", "CPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "04e52e8dcd24",
        "14700c27ec61",
        "346d3d8a855e",
        "4393508646b7",
    )),
    Mended("TRL003", "DPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "26f95452af10",
        "5b6c30f0038b",
        "e35e32f53210",
        "b3e6ec9afab3",
        "2bce6d774216",
        "a298f87cfc03",
        "9dc971f895da",
    )),
    Mended("TRL003", "ORPOTrainer.get_batch_loss_metrics", "0.13.0", "0.14.0", "#2474", (
        "184f1eb7624e",
        "7c7ce1cad6ee",
        "c210b5f55bef",
        "1fedf50b79fd",
        "118da6e8233e",
    )),
)
# fmt: on

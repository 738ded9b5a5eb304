"""The files that the tests of the ways in lint: the fixtures with their marks, and files that depend on each other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
# One broken file of each rule.
BROKEN = {
    name: (FIXTURES / name / "broken.py").read_text(encoding="utf-8")
    for name in ("item_before_gather", "wrapped_model_attribute", "unreduced_metric")
}
_MARK = re.compile(r"[ \t]*# expect: (?P<codes>[A-Z0-9, ]+)$", re.MULTILINE)

# The finding in `mine.py` (line 7, column 9, TRL003) can only be found with its base class, in `base.py`.
BASE = """from transformers import Trainer


class BaseTrainer(Trainer):
    def show(self, value):
        self.log({"loss": value})
"""
MINE = """from base import BaseTrainer


class MyTrainer(BaseTrainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        self.show(loss.item())
        return loss
"""


def marks(text: str) -> list[tuple[int, str]]:
    """The line and the code of every finding that a text is marked for."""
    return [
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for found in _MARK.finditer(line)
        for code in found["codes"].replace(",", " ").split()
    ]


def unmarked(text: str) -> str:
    """The text without its marks; the lines stay the same."""
    return _MARK.sub("", text)

"""TRL006: what a mask has selected is not empty if the mask has been counted, not if only its length has been."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL006")
PROGRAM = """\
import torch
from accelerate import Accelerator


def train(model, optimizer, loader, criterion):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        kept = {mask}
        if {test}:
            continue
        labels = y[kept]
        if labels.size(0) == 0:
            break
        accelerator.backward(criterion(model(x), labels))
"""


@pytest.mark.parametrize(
    ("mask", "test", "expected"),
    [
        ("y >= 0", "kept.sum() == 0", False),
        ("(y >= 0) & (y <= 9)", "not kept.any()", False),
        ("torch.where(y >= 0)[0]", "len(kept) == 0", False),
        ("y >= 0", "len(kept) == 0", True),
        ("(y >= 0) & ~(y > 9)", "kept.numel() == 0", True),
    ],
)
def test_rows_that_a_mask_selects(mask, test, expected):
    text = PROGRAM.format(mask=mask, test=test)
    lines = [text.splitlines()[each.start.line - 1].strip() for each in SNIPPETS.findings(text)]
    assert ("break" in lines) is expected

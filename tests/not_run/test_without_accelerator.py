"""Findings in code that only runs if the Accelerator is None are not in the default set: no process was started."""

from __future__ import annotations

import pytest
from small_projects import NOWHERE

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

PROGRAM = """
from accelerate import Accelerator
from transformers import AutoModelForCausalLM

class Job:
    def __init__(self, accelerator=None):
        self.accelerator = accelerator
        if self.accelerator is None:
            self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(AutoModelForCausalLM.from_pretrained("a/b"))

    def save(self, path, other, accelerator=None):
        {before}
        {around}
            self.model.save_pretrained(path)
"""


def by_default(before: str, around: str) -> list[bool]:
    program = PROGRAM.format(before=before, around=around)
    found = Linter(Settings(), (NOWHERE,), (find_rule("TRL002"),)).check(NOWHERE / "train.py", program.encode())
    return [each.by_default for each in found]


@pytest.mark.parametrize(
    ("before", "around", "expected"),
    [
        ("pass", "if self.accelerator is None:", False),
        ("pass", "if not self.accelerator:", False),
        ("pass", "if other and self.accelerator is None:", False),
        ("if self.accelerator is not None: pass", "else:", False),
        ("if self.accelerator is not None: return", "if other:", False),
        ("if accelerator: return", "if other:", False),
        ("pass", "if self.accelerator is not None:", True),
        ("pass", "if other is None:", True),
        ("pass", "if other or self.accelerator is None:", True),
        ("if self.accelerator is None: return", "if other:", True),
        ("if self.accelerator is not None: print(path)", "if other:", True),
        # It exists by then.
        ("if accelerator is None: accelerator = Accelerator()", "if not accelerator or other:", True),
        ("if accelerator is None:\n            accelerator = other", "if accelerator is None:", True),
    ],
)
def test_without_an_accelerator_nothing_is_wrapped(before, around, expected):
    assert by_default(before, around) == [expected]

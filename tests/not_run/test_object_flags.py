"""Findings in code that a flag of its object turns off are not in the default set: it does not run as shipped."""

from __future__ import annotations

import pytest
from small_projects import NOWHERE

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

PROGRAM = """
import wandb
from transformers import Trainer

class Logging(Trainer):
    def __init__(self, *others):
        super().__init__(*others)
        {flag}

    def training_step(self, model, inputs, *others):
        {before}
        {around}
            wandb.log({{"step": self.state.global_step}})
        return super().training_step(model, inputs, *others)
"""


def by_default(flag: str, around: str = "if self.draws:", before: str = "pass", more: str = "") -> list[bool]:
    program = PROGRAM.format(flag=flag, around=around, before=before) + more
    found = Linter(Settings(), (NOWHERE,), (find_rule("TRL008"),)).check(NOWHERE / "train.py", program.encode())
    return [each.by_default for each in found]


@pytest.mark.parametrize(
    ("around", "before", "expected"),
    [
        ("if self.draws:", "pass", False),
        ("if self.draws and self.state.global_step:", "pass", False),
        (
            "if self.args.logging_steps:",
            "if not self.draws: return super().training_step(model, inputs, *others)",
            False,
        ),
        ("if self.draws or self.state.global_step:", "pass", True),
        ("if not self.draws:", "pass", True),
        ("if self.args.draws:", "pass", True),
    ],
)
def test_what_is_behind_a_flag_that_is_off(around, before, expected):
    assert by_default("self.draws = False", around, before) == [expected]


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("self.draws: bool = False", False),
        ("self.draws = True", True),
        ("self.draws = None", True),
        ("self.draws = False or others", True),
        ("self.draws = bool(others)", True),
        ("self.draws = False; self.draws = bool(others)", True),
        ("self.draws = False; vars(self).update(others[-1])", True),
        ("self.draws = False; [setattr(self, *each) for each in others]", True),
    ],
)
def test_which_flags_are_off(flag, expected):
    assert by_default(flag) == [expected]


@pytest.mark.parametrize(
    "more",
    [
        "class Drawing(Logging):\n    draws = True\n",
        "trainer = Logging()\ntrainer.draws = True\n",
        "def switch(trainer, on):\n    setattr(trainer, 'draws', on)\n",
        "start(draws=True)\n",
    ],
)
def test_flags_that_something_else_may_set(more):
    assert by_default("self.draws = False", more=more) == [True]


def test_the_other_arm_of_a_flag_that_is_on():
    assert by_default("self.silent = True", "if self.silent:\n            pass\n        else:") == [False]

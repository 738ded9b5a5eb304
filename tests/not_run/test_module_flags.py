"""Findings in code that a flag of its module turns off are not in the default set: it does not run as shipped."""

from __future__ import annotations

import pytest
from small_projects import NOWHERE

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

PROGRAM = """
import wandb
from transformers import Trainer
{flag}

class Logging(Trainer):
    def training_step(self, model, inputs, *others{parameter}):
        {before}
        {around}
            wandb.log({{"step": self.state.global_step}})
        return super().training_step(model, inputs, *others)
"""


def text(flag: str, around: str = "if True:", before: str = "pass", parameter: str = "") -> str:
    return PROGRAM.format(flag=flag, around=around, before=before, parameter=parameter)


def by_default(program: str) -> list[bool]:
    found = Linter(Settings(), (NOWHERE,), (find_rule("TRL008"),)).check(NOWHERE / "train.py", program.encode())
    return [each.by_default for each in found]


@pytest.mark.parametrize(
    ("around", "before", "expected"),
    [
        ("if DEBUG:", "pass", False),
        ("if DEBUG and self.state.global_step:", "pass", False),
        ("if self.args.logging_steps:", "if not DEBUG: return super().training_step(model, inputs, *others)", False),
        ("if self.args.logging_steps:", "if not DEBUG: print('not logged')", True),
        ("if DEBUG or self.state.global_step:", "pass", True),
        ("if not DEBUG:", "pass", True),
        ("if self.args.DEBUG:", "pass", True),
        ("if self.args.logging_steps:", "if DEBUG: return super().training_step(model, inputs, *others)", True),
    ],
)
def test_what_is_behind_a_flag_that_is_off(around, before, expected):
    assert by_default(text("DEBUG = False", around, before)) == [expected]


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("do_log: bool = False", False),
        ("do_log = True", True),
        ("do_log = None", True),
        ("do_log = os.environ.get('LOG', False)", True),
        ("do_log = False\nif 'LOG' in os.environ:\n    do_log = True", True),
        ("try:\n    import extra\n    do_log = True\nexcept ImportError:\n    do_log = False", True),
        ("do_log = False\nfrom settings import *", True),
        ("from settings import *\ndo_log = False", False),
        ("do_log = False\nexec(open('settings.py').read())", True),
        ("do_log = False\nglobals().update(settings)", True),
        ("do_log = False\nsys.modules[__name__].do_log = True", True),
        ("if 'LOG' in os.environ:\n    do_log = False", True),
    ],
)
def test_which_flags_are_off(flag, expected):
    assert by_default(text(f"import os, sys\n{flag}", "if do_log:")) == [expected]


def test_the_other_arm_of_a_flag_that_is_on():
    program = text("SILENT = True", "if SILENT:\n            pass\n        else:")
    assert by_default(program) == [False]


def test_a_parameter_of_the_same_name():
    assert by_default(text("do_log = False", "if do_log:", parameter=", do_log=True")) == [True]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("import train\ntrain.do_log = True\n", True),
        ("import train\nsetattr(train, 'do_log', True)\n", True),
        ("# train.do_log = True\n", False),
        ("class Own:\n    def __init__(self):\n        self.do_log = True\n", False),
    ],
)
def test_a_flag_that_another_file_sets(tmp_path, other, expected):
    program = text("do_log = False", "if do_log:").encode()
    (tmp_path / "train.py").write_bytes(program)
    (tmp_path / "other.py").write_text(f"{other}from transformers import Trainer\n", encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL008"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "train.py", program)] == [expected]

"""Findings in copies of released trainers name the release with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.program.project.reparsing import reparsed
from trl_lint.knowledge.upstream import ROWS, FixedBug
from trl_lint.linter import upstream
from trl_lint.linter.linter import Linter
from trl_lint.linter.live_linter import LiveLinter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

TRAINER = """\
from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        # Ours.
        length = inputs["attention_mask"].sum()

        self.log({"length": length.item()})
        return super().compute_loss(model, inputs, return_outputs)

    def training_step(self, model, inputs):
        self.log({"rows": inputs["input_ids"].sum().item()})
        return super().training_step(model, inputs)
"""
METHOD = TRAINER.splitlines()[4:10]


@pytest.fixture
def known(monkeypatch):
    row = FixedBug("TRL003", "SomeTrainer.compute_loss", "0.1.0", "0.2.0", "#7", (upstream.digest(METHOD),))
    monkeypatch.setattr(upstream, "ROWS", (row,))
    _forget()
    yield row
    _forget()


def _forget() -> None:
    upstream.names.cache_clear()
    upstream._by_digest.cache_clear()


def helps(tmp_path: Path, text: str) -> list[bool]:
    """By finding, whether its help names the release."""
    path = tmp_path / "mine.py"
    findings = Linter(Settings(), (tmp_path,), all_rules()).check(path, text.encode())
    return [each.help.endswith("trl up to 0.1.0; 0.2.0 fixed it (#7)") for each in findings]


def test_a_copied_method_names_the_release_and_others_do_not(known, tmp_path):
    assert helps(tmp_path, TRAINER) == [True, False]


def test_indentation_blank_lines_and_comments_do_not_matter(known, tmp_path):
    assert helps(tmp_path, TRAINER.replace("        # Ours.\n", "\n\n        # Other words.\n")) == [True, False]


def test_a_changed_method_is_the_users_own(known, tmp_path):
    assert helps(tmp_path, TRAINER.replace('{"length"', '{"size"')) == [False, False]


def test_another_rule_says_nothing_of_it(known):
    text = "\n".join([*"1234", *METHOD])
    around = [(5, 4 + len(METHOD))]
    assert upstream.fixed_release("TRL003", text, around, 7) == known
    assert upstream.fixed_release("TRL003", text, around, 5 + len(METHOD)) is None
    assert upstream.fixed_release("TRL002", text, around, 7) is None


def test_no_text_belongs_to_two_functions():
    digests = [(row.rule, each) for row in ROWS for each in row.digests]
    assert len(digests) == len(set(digests))
    assert all(row.pull.startswith("#") and row.last != row.fixed for row in ROWS)


def test_a_method_that_is_being_typed_is_the_users_own(known, tmp_path):
    path = tmp_path / "mine.py"
    linter = LiveLinter(Settings(), (tmp_path,), all_rules(), can_fix=False)
    linter.trees[path] = (TRAINER.encode(), reparsed(TRAINER, None))
    copied, _ = linter.check(path, TRAINER.encode())
    edited = TRAINER.replace('{"length"', '{"size"').encode()
    assert linter.update(path, edited)
    mine, _ = linter.check(path, edited)
    assert "0.2.0 fixed it" in copied.help and "fixed it" not in mine.help

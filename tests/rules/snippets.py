"""Small pieces of training code, linted and fixed as the text of one file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from trl_lint.findings import Finding, Guard
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import FixResult
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

# This folder does not exist, and above it are only this project's settings: a text is linted as a single file.
HERE = Path(__file__).parent / "nowhere"
SETTINGS = Settings(target_trl="0.17.0", target_transformers="4.51.3")
# The tree of the last text: what a fix has written is parsed once for its gate and for the run after it.
TREES: dict = {}
# The linter of the last text: what was found is not worked out again for the fix, nor for what is left after it.
LAST: dict = {}

LOOP = """\
import time
import torch
import wandb
from accelerate import Accelerator

def train(model, optimizer, loader):
    accelerator = Accelerator(log_with="wandb")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        loss = model(**batch).loss
        accelerator.backward(loss)
        mask = batch["attention_mask"]
"""
TRAINER = """\
import torch
from transformers import Trainer

class MyTrainer(Trainer):
"""


def loop(body: str) -> str:
    """A training loop on an `Accelerator` that ends in `body`."""
    return LOOP + indent(dedent(body).strip("\n") + "\n", " " * 8)


def trainer(body: str) -> str:
    """A subclass of `transformers.Trainer` with this body."""
    return TRAINER + indent(dedent(body).strip("\n") + "\n", " " * 4)


class Snippets:
    """Lints and fixes texts with one rule (the check of a fix's result always uses all rules)."""

    def __init__(self, code: str, settings: Settings = SETTINGS) -> None:
        self.rule = find_rule(code)
        self.settings = settings
        self.path = HERE / "snippet.py"

    def linter(self, source: bytes, *, can_fix: bool) -> Linter:
        text = self.rule, self.settings, source, can_fix
        if text not in LAST:
            LAST.clear()
            LAST[text] = Linter(self.settings, (HERE,), (self.rule,), can_fix=can_fix)
            LAST[text].trees = TREES
        return LAST[text]

    def findings(self, text: str) -> list[Finding]:
        linter = self.linter(text.encode(), can_fix=False)
        found = linter.check(self.path, text.encode())
        assert linter.may_matter(text.encode()) or not found, "the prefilter of the rule passes it over"
        return found

    def finding(self, text: str) -> Finding:
        """The only finding of a text."""
        (found,) = self.findings(text)
        return found

    def places(self, text: str) -> list[str]:
        """The code that each finding of a text points at."""
        return [shown(text, each) for each in self.findings(text)]

    def fix(self, source: bytes, *, unsafe: bool = False) -> FixResult:
        return self.linter(source, can_fix=True).fix(self.path, source, unsafe=unsafe)

    def mended(self, text: str, *, unsafe: bool = False) -> str:
        """The text after `--fix`; a second run must change nothing."""
        result = self.fix(text.encode(), unsafe=unsafe)
        assert not result.withheld
        assert self.fix(result.source, unsafe=unsafe).source == result.source
        return result.source.decode()


def shown(text: str, finding: Finding | Guard) -> str:
    """The code at a finding, or the code that keeps ranks away from there."""
    lines = text.splitlines(keepends=True)[finding.start.line - 1 : finding.end.line]
    lines[-1] = lines[-1][: finding.end.column - 1]
    lines[0] = lines[0][finding.start.column - 1 :]
    return "".join(lines)

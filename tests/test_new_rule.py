"""A new rule on an existing event consists of its module and the module of its fix: nothing else names it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from trl_lint.analysis.events import CollectiveCalled, Event
from trl_lint.rules import by_event
from trl_lint.rules.base import Rule, Violation

RULE = '''"""A value is broadcast from another rank than the first.

## What it does

Reports `broadcast` with a `from_process` (of Accelerate) other than 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.findings import Consequence
from trl_lint.knowledge.mentions import named
from trl_lint.rules.base import Rule, Violation


class OddRoot(Rule[CollectiveCalled]):
    code = "TRL950"
    name = "odd-root"
    consequences = (Consequence.CRASH,)
    mentions = (named(["from_process"]),)

    def check(self, event: CollectiveCalled) -> Iterator[Violation]:
        if event.row.name == "accelerate.utils.broadcast" and len(event.node.args) > 1:
            yield Violation(event=event, message="it comes from another rank than the first")
'''
FIX = '''"""The plan for a broadcast from another rank than the first: its root is left out."""

from __future__ import annotations

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace


class OddRootFix(RuleFix[CollectiveCalled]):
    title = "Send it from the first rank"

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        if len(event.node.args) > 2:
            return NoFix("it is given more than a root")
        tensor = event.node.args[0].with_changes(comma=event.node.args[-1].comma)
        return FixPlan((Replace(event.node, event.node.with_changes(args=[tensor])),))
'''
BROKEN = """from accelerate import Accelerator
from accelerate.utils import broadcast


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        first = broadcast(loss, from_process=1)
"""
FIXED = BROKEN.replace(", from_process=1", "")
# Stands for the modules that an installed package would have in its folders.
WITH_RULE = """
import sys
import trl_lint.fixes, trl_lint.rules
for package in (trl_lint.rules, trl_lint.fixes):
    package.__path__.append(f"{sys.argv[1]}/{package.__name__}")
"""
RUN = "from trl_lint.frontends.cli import main; main(sys.argv[2:])"
COMMAND = """
import libcst as cst
from libcst.codemod import CodemodContext
from trl_lint import codemods
command = codemods.OddRootCommand(CodemodContext(filename=sys.argv[2]))
print(command.transform_module(cst.parse_module(open(sys.argv[2]).read())).code, end="")
"""
PAGES = """
from generating import generate
assert "rules/odd-root.md" in generate.pages()
readme = generate.with_rules_table((generate.ROOT / "README.md").read_text(encoding="utf-8"))
print([table.count("TRL950") for table in (generate.rules_table(), generate.codemods_table(), readme)])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A project with a broken program, next to the two modules of a new rule."""
    for package, text in (("rules", RULE), ("fixes", FIX)):
        path = tmp_path / f"trl_lint.{package}" / "odd_root.py"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    (tmp_path / "train.py").write_text(BROKEN, encoding="utf-8")
    return tmp_path


def said(folder: Path, script: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITH_RULE + script, str(folder), *args], capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_it_is_listed_and_explained(folder):
    listed = [line.split() for line in said(folder, RUN, "rules").splitlines()]
    assert ["TRL950", "odd-root", "fix", "A", "value", "is", "broadcast"] in [line[:7] for line in listed]
    page = said(folder, RUN, "rule", "odd-root")
    assert page.startswith("# odd-root (TRL950)\n\nConsequence: crash.\n\nA value is broadcast")
    assert said(folder, PAGES) == "[1, 1, 1]\n"


def test_it_is_asked_and_its_fix_is_offered(folder):
    (found,) = json.loads(said(folder, RUN, "--isolated", "--output-format=json", "train.py"))
    assert (found["code"], found["location"]["row"], found["message"]) == (
        "TRL950",
        11,
        "it comes from another rank than the first",
    )
    assert (found["fix"]["applicability"], found["fix"]["message"]) == ("safe", "Send it from the first rank")
    assert said(folder, RUN, "--isolated", "--output-format=json", "--select=TRL001", "train.py") == "[]\n"


def test_it_is_silenced_by_its_name(folder):
    (folder / "train.py").write_text(BROKEN.rstrip() + "  # noqa: odd-root\n", encoding="utf-8")
    assert said(folder, RUN, "--isolated", "--output-format=json", "train.py") == "[]\n"


def test_it_is_mended_and_has_a_command(folder):
    assert said(folder, COMMAND, "train.py") == FIXED
    said(folder, RUN, "--isolated", "--fix", "train.py")
    assert (folder / "train.py").read_text(encoding="utf-8") == FIXED


@dataclass(frozen=True, slots=True, kw_only=True)
class BellRung(Event):
    """An event may be declared anywhere, for example next to its observer."""

    mentions = ((b"bell", b"ring"),)


class Bells(Rule[BellRung | CollectiveCalled]):
    code = "TRL951"
    name = "bells"
    mentions = ((b"loud",),)

    def check(self, event: BellRung | CollectiveCalled) -> Iterator[Violation]:
        yield Violation(event=event, message="it rings")


def test_a_rule_is_asked_about_the_events_that_its_base_names():
    rule = Bells()
    assert by_event([rule]) == {BellRung: (rule,), CollectiveCalled: (rule,)}
    assert Bells.prefilter == (
        ((b"bell", b"ring"), (b"loud",)),
        (*CollectiveCalled.mentions, (b"loud",)),
    )

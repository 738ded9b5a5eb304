"""What `--fix` reports as fixed: places in the old file, in its order, and sums that add up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint.findings import Finding, Position
from trl_lint.frontends.cli import main
from trl_lint.linter.linter import Linter
from trl_lint.linter.rewriting.accounting import Counted, account, still_withheld
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parents[1] / "fixtures"
BROKEN = sorted(FIXTURES.glob("*/broken*.py"))


def at(line: int, *named: str, code: str = "TRL003", column: int = 1, message: str = "") -> Counted:
    here = Position(line, column)
    found = Finding(code, "name", message or ", ".join(named), "x.py", here, here)
    return Counted(found, frozenset((code, "f", each) for each in named))


def told(before: list[Counted], after: list[Counted], old: str, new: str) -> tuple[list[int], list[int], int]:
    """The lines that are fixed and partly fixed, and the number of new findings."""
    said = account(before, after, old.encode(), new.encode())
    return [each.start.line for each in said.fixed], [each.start.line for each in said.partly], said.uncovered


OLD = "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("before", "after", "new", "expected"),
    [
        ([at(3, "x"), at(1, "x")], [], "A\nb\nC\nd\n", ([1, 3], [], 0)),
        # An import above moves what is left.
        ([at(1, "x"), at(3, "x")], [at(4, "x")], "import\nA\nb\nc\nd\n", ([1], [], 0)),
        ([at(1, "x"), at(3, "x")], [at(2, "x")], "import\na\nb\nC\nd\n", ([3], [], 0)),
        # One of two metrics is fixed: the finding is not.
        ([at(2, "x", "y")], [at(2, "y")], "a\nB\nc\nd\n", ([], [2], 0)),
        # A finding on an unchanged line is an old one.
        ([at(2, "x")], [at(4, "x")], "a\nB\nc\nd\n", ([2], [], 1)),
        # A statement that has moved.
        ([at(2, "x")], [at(3, "x")], "a\nc\nb\nd\n", ([], [], 0)),
        ([at(2, "x")], [at(2, "z", code="TRL014")], "a\nB\nc\nd\n", ([2], [], 1)),
    ],
)
def test_findings_are_held_against_those_of_the_new_text(before, after, new, expected):
    assert told(before, after, OLD, new) == expected


def test_what_is_silenced_is_not_counted():
    before = [at(1, "x"), at(2, "x")]
    assert told(before, [], "a  # noqa\nb\n", "A  # noqa\nB\n") == ([2], [], 0)
    assert told([], before, "a\n", "a  # noqa\nb\n") == ([], [], 1)


def test_withheld_fixes_are_told_where_their_findings_are_now():
    withheld = [(at(9, "y").finding, "late"), (at(2, "x").finding, "one"), (at(5, "gone").finding, "two")]
    now = [at(3, "x").finding, at(7, "x").finding, at(10, "y").finding]
    assert still_withheld(withheld, now) == ((now[0], "one"), (now[2], "late"))


TWO_METRICS = """from accelerate import Accelerator


def train(model, optimizer, loader, tokenizer):
    accelerator = Accelerator(log_with="wandb")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        lengths = [len(each) for each in batch["text"]]
        accelerator.log({"loss": loss.item(), "longest": str(max(lengths))})
        accelerator.gather(loss.item())
"""


def run(*args: str) -> str:
    options = ["--isolated", "--no-cache", "--select=ALL", "--output-format=concise"]
    return CliRunner().invoke(main, [*options, *args]).output


@pytest.mark.parametrize("unsafe", [(), ("--unsafe-fixes",)])
def test_found_is_fixed_and_left(tmp_path, monkeypatch, unsafe):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TWO_METRICS)
    before = re.findall(r"^train.py:(\d+:\d+): (TRL\d+)", run("train.py"), re.MULTILINE)
    said = run("--fix", *unsafe, "train.py")
    left = re.findall(r"^train.py:\d+:\d+: TRL\d+", said, re.MULTILINE)
    _, _, listed = said.partition("Fixed ")
    fixed = re.findall(r"^  train.py:(\d+:\d+): (TRL\d+) [\w-]+$", listed.partition("in part")[0], re.MULTILINE)
    new = re.search(r"(\d+) revealed by the fixes", said)
    assert fixed
    assert [each for each in before if each in fixed] == fixed
    assert len(before) == len(fixed) + len(left) - (int(new[1]) if new else 0)


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("path", BROKEN[::5], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_sums_of_the_fixtures(path, unsafe):
    source = path.read_bytes()

    def linter() -> Linter:
        return Linter(Settings(), (path.parent,), all_rules())

    before = linter().check(path, source)
    result = linter().fix(path, source, unsafe=unsafe)
    assert [each for each in before if each in (*result.applied, *result.partly)] == sorted(
        (*result.applied, *result.partly), key=lambda each: each.sort_key
    )
    assert len(before) == len(result.applied) + len(result.remaining) - result.uncovered
    assert {finding for finding, _ in result.withheld} <= set(result.remaining)


HELPERS = """from accelerate import Accelerator


def save(accelerator: Accelerator, folder):
    accelerator.wait_for_everyone()
    print("saved")


def advance(model, batch):
    if batch["input_ids"].size(-1) == 3:
        return None
    return model(**batch).loss


def mean_length(accelerator: Accelerator, batch):
    return accelerator.gather(batch["length"].sum().item())
"""
CALLERS = """from accelerate import Accelerator

from helpers import advance, save


def main(model, optimizer, loader):
    accelerator = Accelerator(log_with="wandb")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = advance(model, batch)
        accelerator.backward(loss)
        accelerator.log({"loss": loss.item()})
    if accelerator.is_main_process:
        save(accelerator, "out")
"""


def test_what_lives_by_another_file_is_not_fixed_by_looking_at_one(tmp_path, monkeypatch):
    """Found in kohya-ss/sd-scripts: 21 findings "fixed", of which the next run found 11 again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(CALLERS)
    # So large that it would not be opened if only the file that imports it were linted.
    (tmp_path / "helpers.py").write_text(HELPERS + f"# {'filler ' * 500}\n" * 150)
    before = re.findall(r"^(\w+.py):\d+:\d+: (TRL\d+)", run("."), re.MULTILINE)
    assert len(before) == 4
    said = run("--fix", "--unsafe-fixes", ".")
    fixed = re.findall(r"^  (\w+.py):\d+:\d+: (TRL\d+)", said, re.MULTILINE)
    assert fixed == [("helpers.py", "TRL001"), ("train.py", "TRL003"), ("train.py", "TRL006")]
    left = [line for line in said.splitlines() if re.match(r"\w+.py:", line)]
    assert [line for line in run("--fix", "--unsafe-fixes", ".").splitlines() if re.match(r"\w+.py:", line)] == left
    assert len(left) == 1

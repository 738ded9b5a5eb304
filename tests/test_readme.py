"""README against the tool: its example shows real output, its table lists what exists, and it stays one page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from fixture_marks import MARK, expected
from generating import generate
from linted_fixtures import ARGUMENTS, cache_of_fixtures
from markdowns import block, cells, section
from notebooks import line_in_file

from trl_lint.frontends.cli import main
from trl_lint.rules import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAX_BYTES = 8_000


@pytest.fixture
def train(tmp_path, monkeypatch) -> Path:
    """README's broken example as a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "train.py"
    path.write_text(block(README, "broken"), encoding="utf-8")
    return path


def test_it_is_one_page():
    assert len(README.encode()) <= MAX_BYTES


def test_the_output_is_what_the_tool_prints(train):
    done = CliRunner().invoke(main, ["--isolated", "--output-format=text", "train.py"])  # as on a terminal
    assert (done.exit_code, done.stdout) == (1, block(README, "output"))


def test_the_fixed_example_is_what_the_tool_makes_of_the_broken_one(train):
    done = CliRunner().invoke(main, ["--isolated", "--fix", "train.py"])
    assert done.exit_code == 0
    assert train.read_text(encoding="utf-8") == block(README, "fixed")


@pytest.mark.parametrize("name", ["broken", "fixed"])
def test_the_example_is_a_fixture(name):
    text = (ROOT / "fixtures" / "item_before_gather" / f"{name}.py").read_text(encoding="utf-8")
    assert block(README, name) in MARK.sub("", text)


def test_the_table_of_rules_is_as_it_is_made():
    """If it fails: `python docs/generate.py`."""
    assert generate.with_rules_table(README) == README
    for code in ("TRL001", "TRL020"):
        assert generate.with_rules_table(README.replace(f"{code}](", "TRL999](")) == README


def test_every_rule_is_in_the_table_or_in_the_list_of_previews():
    rules = [rule for rule in all_rules() if not rule.preview]
    rows = cells(section(README, "## Rules"))
    assert [row[0] for row in rows] == [link(rule) for rule in rules]
    assert [row[1:3] for row in rows] == [[rule.name, rule.summary] for rule in rules]
    assert [row[3] != "hint" for row in rows] == [rule.has_fix for rule in rules]
    assert all(f"{link(rule)} {rule.name}" in section(README, "## Rules") for rule in all_rules() if rule.preview)


def link(rule):
    home = f"{type(rule).__module__.replace('.', '/')}.py"
    assert (ROOT / home).is_file()
    return f"[{rule.code}]({home})"


def expected_launches() -> list[tuple[Path, int, str]]:
    """The expected findings among the launches of the fixtures, which carry no marks."""
    folder = ROOT / "fixtures" / "bare_python_launch"
    rows = tomllib.loads((folder / "expectations.toml").read_text(encoding="utf-8"))
    wrong = ("certain", "unknown")
    return [
        (folder / "launches" / name, int(line), "TRL004")
        for name, lines in rows.items()
        for line, said in lines.items()
        if isinstance(said, str) and said.startswith(wrong)
    ]


def line_of(row: dict) -> int:
    return line_in_file(Path(row["filename"]).read_text(encoding="utf-8"), row["cell"] or 0, row["location"]["row"])


def test_the_first_command_finds_what_is_marked(monkeypatch, tmp_path_factory):
    monkeypatch.chdir(ROOT)
    for name in ("TRL_LINT_NO_CACHE", "TRL_LINT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    cache = cache_of_fixtures(tmp_path_factory)
    done = CliRunner().invoke(main, [f"--cache-dir={cache}", "--output-format=json", *ARGUMENTS])
    assert done.exit_code == 1
    places = (each for row in json.loads(done.stdout) for each in (row, *row["also"]))
    found = sorted((Path(row["filename"]), line_of(row), row["code"]) for row in places)
    # Unused comments are only reported in a run on the whole project.
    needs_all = ROOT / "fixtures" / "unused_noqa" / "comments" / "broken.py"
    marked = [
        (path, number, code)
        for path in sorted((ROOT / "fixtures").rglob("*.*"))
        if path.suffix in (".py", ".sh") and path != needs_all
        for number, code in expected(path.read_text(encoding="utf-8"))
    ]
    assert found == sorted([*marked, *expected_launches()])

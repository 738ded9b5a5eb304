"""README against the tool: its example is what the tool does, its tables name what there is."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from trl_lint.cli import main
from trl_lint.config import KEYS
from trl_lint.knowledge.own import REDUCERS
from trl_lint.rules import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"[ \t]*# expect: [A-Z0-9, ]+$", re.MULTILINE)


def block(name: str) -> str:
    """The code block after the comment `<!-- name -->`."""
    _, _, rest = README.partition(f"<!-- {name} -->\n")
    fence = FENCE.match(rest)
    assert fence, name
    return fence["text"]


def section(heading: str) -> str:
    """What stands below a heading, up to the next one."""
    _, found, rest = README.partition(f"\n{heading}\n")
    assert found, heading
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def cells(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    heads = {index - 1 for index, row in enumerate(rows) if set(row) == {"---"}}
    return [row for index, row in enumerate(rows) if index not in heads and set(row) != {"---"}]


def anchor(heading: str) -> str:
    """The anchor that a heading gets where README is shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.fixture
def train(tmp_path, monkeypatch) -> Path:
    """README's broken example as a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "train.py"
    path.write_text(block("broken"), encoding="utf-8")
    return path


def test_the_output_is_what_the_tool_prints(train):
    done = CliRunner().invoke(main, ["--isolated", "train.py"])
    assert (done.exit_code, done.stdout) == (1, block("output"))


def test_the_fixed_example_is_what_the_tool_makes_of_the_broken_one(train):
    done = CliRunner().invoke(main, ["--isolated", "--fix", "train.py"])
    assert done.exit_code == 0
    assert train.read_text(encoding="utf-8") == block("fixed")


@pytest.mark.parametrize("name", ["broken", "fixed"])
def test_the_example_is_a_fixture(name):
    text = (ROOT / "fixtures" / "item_before_gather" / f"{name}.py").read_text(encoding="utf-8")
    assert block(name) in MARK.sub("", text)


def test_every_rule_is_in_the_table():
    rows = cells(section("## Rules"))
    linked = [f"[{rule.code}](#{rule.code.lower()}-{rule.name})" for rule in all_rules()]
    assert [row[0] for row in rows] == linked
    assert [row[1:3] for row in rows] == [[rule.name, rule.summary] for rule in all_rules()]
    assert [row[3] != "no automatic fix yet" for row in rows] == [rule.has_fix for rule in all_rules()]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_its_section(rule):
    text = section(f"### {rule.code} {rule.name}")
    examples = [fence["text"] for fence in FENCE.finditer(rule.documentation)]
    assert [fence["text"] for fence in FENCE.finditer(text)] == examples
    assert anchor(f"{rule.code} {rule.name}") == f"{rule.code.lower()}-{rule.name}"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_link_of_a_finding_leads_to_the_section(rule):
    from trl_lint.findings import Finding, Position

    here = Position(1, 1)
    url = Finding(rule.code, rule.name, "", "x.py", here, here).url
    assert url.partition("#")[2] == anchor(f"{rule.code} {rule.name}")


def long_options(command: click.Command) -> list[str]:
    options = [each for each in command.params if isinstance(each, click.Option)]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    return sorted(name for name in names if name.startswith("--"))


@pytest.mark.parametrize(
    ("command", "heading", "besides"),
    [("check", "## Use", ["--help"]), ("verify", "## Proof at run time", [])],
)
def test_every_option_is_explained(command, heading, besides):
    known = long_options(main.get_command(click.Context(main), command))
    named = [name for row in cells(section(heading)) for name in re.findall(r"--[a-z-]+", row[0])]
    assert sorted(named) == sorted([*known, *besides])


def test_every_setting_is_explained():
    assert [row[0].strip("`") for row in cells(section("### Settings"))] == list(KEYS)


@pytest.mark.parametrize("settings", [True, False])
def test_names_of_your_own_are_known_by_the_settings(tmp_path, monkeypatch, settings):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(block("own example"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(block("own settings"), encoding="utf-8")
    done = CliRunner().invoke(main, ["--output-format=json", "train.py", *["--isolated"] * (not settings)])
    lines = block("own example").splitlines()
    found = [lines[row["location"]["row"] - 1].strip() for row in json.loads(done.stdout)]
    assert found == (['push({"loss": loss})', "print(model.config, unwrap(model).config)"] if settings else [])


def test_every_word_for_a_reducer_is_explained():
    words = [word for row in cells(section("### Names of your own")) for word in re.findall(r"`(\w+)`", row[0])]
    assert words == ["broadcast", "gather", "max", "mean", "min", "sum", "objects"]
    assert sorted(words) == sorted(REDUCERS)


@pytest.mark.parametrize("name", ["history", "mutation", "speed", "with_flake8", "crash"])
def test_every_benchmark_is_there(name):
    assert f"`python bench/{name}.py`" in section("## Accuracy")
    assert (ROOT / "bench" / f"{name}.py").is_file()


def test_every_hook_is_named():
    hooks = re.findall(r"^- id: (\S+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    assert hooks == ["trl-lint", "trl-lint-fix"]
    assert [name for name in hooks if f"`{name}`" not in section("### In pre-commit")] == []


def expected_launches() -> list[tuple[Path, int, str]]:
    """What is wrong among the launches of the fixtures, which carry no marks."""
    folder = ROOT / "fixtures" / "bare_python_launch"
    rows = tomllib.loads((folder / "expectations.toml").read_text(encoding="utf-8"))
    wrong = ("certain", "unknown")
    return [
        (folder / "launches" / name, int(line), "TRL004")
        for name, lines in rows.items()
        for line, said in lines.items()
        if isinstance(said, str) and said.startswith(wrong)
    ]


def test_the_first_command_finds_what_is_marked(monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(main, ["--output-format=json", "fixtures/"])
    assert done.exit_code == 1
    found = sorted(
        (Path(row["filename"]), row["location"]["row"], row["code"]) for row in json.loads(done.stdout)
    )
    marked = [
        (path, number, code)
        for path in sorted((ROOT / "fixtures").rglob("*.*"))
        if path.suffix in (".py", ".sh")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for mark in MARK.findall(line)
        for code in sorted(mark.partition(":")[2].replace(",", " ").split())
    ]
    assert found == sorted([*marked, *expected_launches()])

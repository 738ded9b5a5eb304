"""The fixtures state what the tool must find, what it must leave alone, and what `--fix` must write."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_marks import MARK, expected

from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules, find_rule
from trl_lint.rules.base import BaseRule, CommentRule
from trl_lint.settings import Settings
from trl_lint.verify.proof.fixtures import expected_failures

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for path in FIXTURES.glob("*/*") if path.suffix in (".py", ".sh"))
BROKEN = [path for path in FILES if path.stem.startswith("broken")]
TREES: dict = {}  # each is parsed once: nothing changes a tree
ENGINES: dict = {}  # what starts the programs of a folder is looked for once
# Those that are fixed by hand, and those with an unsafe fix, according to their `proof.toml`.
BY_HAND = {f"{rule}/{stem}" for rule, way in expected_failures().items() for stem in way.by_hand}
UNSAFE = {f"{rule}/{stem}" for rule, way in expected_failures().items() for stem in way.unsafe}


def identity(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def linter(path: Path, *rules: BaseRule) -> Linter:
    """A linter whose project is the folder of a file; modules that fixtures share are found next to it."""
    settings = Settings(target_trl="0.17.0", target_transformers="4.51.3")
    fresh = Linter(settings, (path.parent, FIXTURES), rules or all_rules())
    fresh.trees = TREES
    fresh.engines = ENGINES.setdefault(path.parent, fresh.engines)
    return fresh


def found(path: Path, source: bytes) -> set[tuple[int, str]]:
    findings = linter(path).check(path, source)
    return {(each.start.line, each.code) for finding in findings for each in (finding, *finding.also)}


def twin(path: Path) -> Path:
    return path.with_name(path.name.replace("broken", "fixed", 1))


def rule_name(path: Path) -> str:
    return path.parent.name.replace("_", "-")


@pytest.mark.parametrize("path", FILES, ids=identity)
def test_findings_stand_where_the_marks_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    marks = expected(text)
    assert bool(marks) == path.stem.startswith("broken")
    assert found(path, path.read_bytes()) == marks


@pytest.mark.parametrize("path", BROKEN, ids=identity)
def test_a_broken_fixture_is_about_its_own_rule(path: Path) -> None:
    rule = find_rule(rule_name(path))
    assert rule is not None
    assert rule.code in {code for _, code in expected(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    "path", [path for path in BROKEN if twin(path).exists() and identity(path) not in BY_HAND], ids=identity
)
def test_the_fix_makes_the_fixed_twin(path: Path) -> None:
    source = MARK.sub("", path.read_text(encoding="utf-8")).encode()
    if identity(path) in UNSAFE:
        assert linter(path).fix(path, source).source == source
    result = linter(path).fix(path, source, unsafe=identity(path) in UNSAFE)
    assert result.source.decode() == twin(path).read_text(encoding="utf-8")
    assert not result.withheld
    again = linter(path).fix(path, result.source, unsafe=True)
    assert again.source == result.source


def test_what_is_mended_by_hand_is_there() -> None:
    assert {identity(path) for path in BROKEN if twin(path).exists()} >= BY_HAND
    assert {identity(path) for path in BROKEN} >= UNSAFE
    assert not BY_HAND & UNSAFE and len(BY_HAND) > 5 < len(UNSAFE)


def test_every_rule_with_fixtures_says_how_they_fail() -> None:
    assert {path.parent.name for path in BROKEN} == expected_failures().keys()
    assert {rule_name(path) for path in BROKEN} >= {
        rule.name for rule in all_rules() if not (rule.preview or isinstance(rule, CommentRule))
    }


@pytest.mark.parametrize(
    "path", [path for path in BROKEN if not twin(path).exists() or identity(path) in BY_HAND], ids=identity
)
def test_a_hint_changes_nothing(path: Path) -> None:
    """Other rules' findings on the same lines may have a fix."""
    source = MARK.sub("", path.read_text(encoding="utf-8")).encode()
    result = linter(path, find_rule(rule_name(path))).fix(path, source, unsafe=True)
    assert result.source == source
    assert result.remaining

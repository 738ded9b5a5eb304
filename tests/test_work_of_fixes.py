"""The work for fixes: counted, and only done if there is a fix to make."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import libcst
import pytest
from click.testing import CliRunner

from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.fixes.support.editing import Editing
from trl_lint.frontends.cli import main
from trl_lint.linter.rewriting.regenerating import Written

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Of every third rule: the work is counted by file, whatever is in it.
QUIET = sorted(FIXTURES.glob("*/quiet.py"))[::3]
BROKEN = FIXTURES / "item_before_gather" / "broken.py"
WORK = {
    "analyses": (Engine, "analyse"),
    "parses": (libcst, "parse_module"),
    "edited trees": (Editing, "__init__"),
    "written trees": (Written, "__init__"),
}
WAYS = ("--output-format=json", "--diff", "--diff --unsafe-fixes", "--fix", "--fix --preview --select=TRL")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files in which nothing needs fixing."""
    for path in QUIET:
        shutil.copy(path, tmp_path / f"{path.parent.name}_{path.name}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each kind of work is done."""
    counts: Counter[str] = Counter()

    def counted(kind: str, owner: object, name: str) -> None:
        work = getattr(owner, name)

        def count(*args: object, **options: object) -> object:
            counts[kind] += 1
            return work(*args, **options)

        monkeypatch.setattr(owner, name, count)

    for kind, (owner, name) in WORK.items():
        counted(kind, owner, name)
    return counts


def work(counts: Counter[str], how: str) -> tuple[Counter[str], str]:
    """The work of one command, and its output."""
    counts.clear()
    said = CliRunner().invoke(main, ["--isolated", "--no-cache", *how.split(), "."])
    assert said.exit_code in (0, 1)
    return Counter(counts), said.stdout


def lints(files: int) -> Counter[str]:
    """The work of a plain lint: `--output-format=text` is tested to do no more."""
    return Counter({"analyses": files, "parses": files})


@pytest.mark.parametrize("how", ("--output-format=text", *WAYS))
def test_where_nothing_is_to_be_fixed_no_more_is_done_than_for_a_lint(folder, done, how) -> None:
    assert work(done, how)[0] == lints(len(QUIET))


@pytest.mark.parametrize("how", WAYS[1:])
def test_one_fix_costs_one_analysis_more(folder, done, how) -> None:
    shutil.copy(BROKEN, folder / "broken.py")
    more, _ = work(done, how)
    assert more - lints(len(QUIET) + 1) == {"analyses": 1, "parses": 1, "edited trees": 1, "written trees": 1}


def test_edits_are_shown_without_another_analysis(folder, done) -> None:
    shutil.copy(BROKEN, folder / "broken.py")
    more, said = work(done, "--output-format=json")
    assert more - lints(len(QUIET) + 1) == {"edited trees": 1, "written trees": 1}
    assert '"content"' in said


def test_edits_that_nobody_sees_are_not_made(folder, done) -> None:
    shutil.copy(BROKEN, folder / "broken.py")
    for how in ("--output-format=text", "--output-format=concise"):
        counts, said = work(done, how)
        assert "[*] [crash] item-before-gather" in said
        assert counts == lints(len(QUIET) + 1)

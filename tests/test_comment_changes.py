"""Comments and blank lines change: what was found before is said again, where its code is now."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint.frontends.cli import main
from trl_lint.linter.cache import FOLDER
from trl_lint.linter.comment_changes import lines_moved
from trl_lint.linter.linter import Linter

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The finding is told by lines of both files.
BASE = """from transformers import Trainer


class BaseTrainer(Trainer):
    def show(self, value):
        self.log({"loss": value})
"""
MINE = """from base import BaseTrainer


class MyTrainer(BaseTrainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        self.show(
            loss.item(),
        )
        # it holds x = 3
        return loss
"""
SHOW = "        self.show(\n"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("TRL_LINT_NO_CACHE", "TRL_LINT_CACHE_DIR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "base.py").write_text(BASE, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def analyses(monkeypatch) -> list[Linter]:
    """The runs in which something was analysed."""
    seen: list[Linter] = []
    analyse = Linter.analyse

    def counted(self, files):
        seen.append(self)
        analyse(self, files)

    monkeypatch.setattr(Linter, "analyse", counted)
    return seen


def said(*args: str) -> str:
    done = CliRunner().invoke(main, list(args))
    assert (done.exit_code in (0, 1), done.stderr) == (True, "")
    return done.stdout


def assert_moved(analyses: list[Linter], *args: str) -> str:
    """What is said is what a run without the cache says, and nothing was analysed for it."""
    before = len(analyses)
    moved = said(*args)
    assert len(analyses) == before
    assert moved == said("--no-cache", *args) == said(*args)
    return moved


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("mine.py", "\n\n# one\n\n" + MINE),
        ("mine.py", MINE.replace(SHOW, "        # a word, on a line\n\n\n" + SHOW)),
        ("mine.py", MINE.replace("    def", "  # odd\n    def")),
        ("mine.py", MINE.replace("MyTrainer(BaseTrainer):", "MyTrainer(BaseTrainer):  # behind a colon")),
        ("mine.py", MINE.replace("\n\n\n", "\n")),
        ("mine.py", MINE + "\n\n# at the end"),
        ("mine.py", MINE.replace("        # it holds x = 3\n", "").replace("\n\n\n", "\n# it holds x = 3\n\n\n")),
        ("base.py", BASE.replace("        self.log", "        # all of them\n        self.log")),
    ],
)
def test_findings_move_with_their_code(project, analyses, path, text):
    assert "TRL003" in said(".")
    (project / path).write_text(text, encoding="utf-8")
    assert "TRL003" in assert_moved(analyses, ".")


def test_a_comment_that_silences_does_so_at_once(project, analyses):
    args = ("--select=TRL003,TRL900", ".")
    on_one_line = MINE.replace("(\n            loss.item(),\n        )", "(loss.item())")
    (project / "mine.py").write_text(on_one_line, encoding="utf-8")
    assert "TRL003" in said(*args)
    (project / "mine.py").write_text(on_one_line.replace(".item())", ".item())  # noqa: TRL003"), encoding="utf-8")
    assert assert_moved(analyses, *args) == ""
    (project / "mine.py").write_text(f"# noqa: TRL003\n{on_one_line}", encoding="utf-8")
    assert "TRL003" in assert_moved(analyses, *args)


def test_a_second_change_goes_out_from_the_first(project, analyses):
    said(".")
    for number in range(3):
        (project / "mine.py").write_text("# one more\n" * number + MINE, encoding="utf-8")
        (project / "base.py").write_text("\n" * number + BASE, encoding="utf-8")
        assert_moved(analyses, ".")


@pytest.mark.parametrize(
    "text",
    [
        MINE.replace("loss.item()", "loss.item() + 0"),
        MINE.replace("        self.show", "        pass\n        self.show"),
        # A message may quote what is in brackets, and some questions are asked of the text of a file.
        MINE.replace("loss.item(),", "loss.item(),  # in brackets"),
        MINE.replace("(\n            loss.item(),\n        )", "(loss.item())"),
        MINE.replace("        return", "        # self.loss = 3\n        return"),
        MINE.replace("        return", "        # disable_caching()\n        return"),
        MINE.replace("        # it holds x = 3\n", ""),
    ],
)
def test_all_other_changes_are_analysed(project, analyses, text):
    said(".")
    (project / "mine.py").write_text(text, encoding="utf-8")
    before = len(analyses)
    shown = said(".")
    assert len(analyses) == before + 1
    assert shown == said("--no-cache", ".")


def test_a_text_that_is_no_python_any_more_is_analysed(project):
    said(".")
    (project / "mine.py").write_text(MINE + "    def (\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["."])
    assert done.exit_code == 2 and "mine.py:12" in done.stderr


def test_where_edits_are_asked_for_they_are_made_anew(project, analyses):
    """They may hold comments."""
    shutil.copy(FIXTURES / "item_before_gather" / "broken.py", project / "mine.py")
    args = ("--output-format=json", "mine.py")
    said(*args)
    (project / "mine.py").write_text("# one\n" + (project / "mine.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert said(*args) == said("--no-cache", *args)


def test_files_that_are_read_besides_may_change_as_well(project, analyses):
    (project / "base.py").rename(project / "not_linted.py")
    args = ("mine.py",)
    (project / "mine.py").write_text(MINE.replace("from base", "from not_linted"), encoding="utf-8")
    assert "TRL003" in said(*args)
    (project / "not_linted.py").write_text(f"# one\n{BASE}", encoding="utf-8")
    assert "TRL003" in assert_moved(analyses, *args)
    (project / "not_linted.py").write_text(BASE.replace("self.log", "print"), encoding="utf-8")
    assert said(*args) == ""


@pytest.mark.parametrize("old", ["texts", "entry"])
def test_a_damaged_entry_is_none(project, analyses, old):
    from trl_lint.linter.cache import Cache

    said(".")
    kept = Cache(project / FOLDER)
    (path,) = (project / FOLDER).glob("trl-lint-last-*.json")
    name = path.stem.removeprefix("trl-lint-")
    content = kept.load(name)
    kept.save(name, {**content, old: {each: "!" for each in content["texts"]} if old == "texts" else 3})
    (project / "mine.py").write_text("# one\n" + MINE, encoding="utf-8")
    assert said(".") == said("--no-cache", ".")
    assert len(analyses) == 3


SEED = 7


def test_on_all_fixtures(project, analyses):
    """Comments and blank lines anywhere between statements; few files at a time, as more are analysed anew."""
    draw = random.Random(SEED)
    trees = {}
    for folder in sorted(path for path in FIXTURES.iterdir() if (path / "proof.toml").is_file()):
        files = sorted(folder.glob("*.py"))
        for path in files:
            trees[path.name] = path.read_text(encoding="utf-8")
        _try_one(project / folder.name, files, draw, analyses)
    assert len(trees) > 20


def _try_one(folder: Path, files: list[Path], draw: random.Random, analyses: list[Linter]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in files:
        shutil.copy(path, folder)
    args = ("--select=ALL", "--isolated", str(folder))
    said(*args)
    for path in draw.sample(files, min(3, len(files))):
        text = path.read_text(encoding="utf-8")
        (folder / path.name).write_text(with_comments(text, draw), encoding="utf-8")
    assert_moved(analyses, *args)


def with_comments(text: str, draw: random.Random) -> str:
    """The text with lines between its statements, and comments behind some of them."""
    lines = text.splitlines()
    starts = _between(text)
    for number in sorted(starts, reverse=True):
        if draw.random() < 0.15:
            added = draw.choice(["", "# a comment", "        # deeper than the rest", "#: noqa, or so"])
            lines.insert(number - 1, added)
    return "\n".join(lines) + "\n"


def _between(text: str) -> list[int]:
    """The lines at which a statement starts."""
    import ast

    return sorted({each.lineno for each in ast.walk(ast.parse(text)) if isinstance(each, ast.stmt)} - _decorated(text))


def _decorated(text: str) -> set[int]:
    import ast

    return {each.lineno for each in ast.walk(ast.parse(text)) if getattr(each, "decorator_list", None)}


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ("x = 1\ny = 2\n", "# a\nx = 1\n\ny = 2\n", {1: 2, 2: 4}),
        ("x = [\n    1,\n]\n", "\nx = [\n    1,\n]\n", {1: 2, 2: 3, 3: 4}),
        ('x = """a\n# b\n"""\n', '# c\nx = """a\n# b\n"""\n', {1: 2, 2: 3, 3: 4}),
        ("if x:\n    y\nz\n", "if x:\n\n    y\n# a\nz\n", {1: 1, 2: 3, 3: 5}),
        ("x; y\n", "x; y # a\n", {1: 1}),
        ("x\n", "x", {1: 1}),
        ("x = 1\n", "x =  1\n", None),
        ("if x:\n    y\n", "if x:\n  y\n", None),
        ("x = 1 + \\\n  2\n", "x = 1 + 2\n", None),
        ('x = """a\n# b\n"""\n', 'x = """a\n# c\n"""\n', None),
        ("# -*- coding: utf-8 -*-\nx\n", "# -*- coding: latin-1 -*-\nx\n", None),
        ("x\n", "x = (\n", None),
        ("x\n", "\0", None),
    ],
)
def test_where_lines_are_now(before, now, moved):
    assert lines_moved(before.encode(), now.encode()) == moved

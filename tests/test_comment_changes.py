"""When only comments and blank lines change, earlier findings are reported again, at the new places of their code."""

from __future__ import annotations

import ast
import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint.frontends.cli import main
from trl_lint.linter.store.cache import FOLDER
from trl_lint.linter.store.comment_changes import lines_moved

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The finding is reported with lines of both files.
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


def said(*args: str) -> str:
    done = CliRunner().invoke(main, list(args))
    assert (done.exit_code in (0, 1), done.stderr) == (True, "")
    return done.stdout


def assert_same(analyses: list[object], *args: str) -> bool:
    """The output equals that of a run without the cache. Return whether nothing was analysed for it."""
    before = len(analyses)
    shown = said(*args)
    is_moved = len(analyses) == before
    assert shown == said("--no-cache", *args) == said(*args)
    return is_moved


def assert_moved(analyses: list[object], *args: str) -> str:
    assert assert_same(analyses, *args)
    return said(*args)


@pytest.mark.parametrize(
    ("path", "text", "is_moved"),
    [
        ("mine.py", "\n\n# one\n\n" + MINE, True),
        ("mine.py", MINE.replace("MyTrainer(BaseTrainer):", "MyTrainer(BaseTrainer):  # behind a colon"), True),
        ("mine.py", MINE.replace("\n\n\n", "\n"), True),
        ("mine.py", MINE.replace(SHOW, "\n\n" + SHOW), True),
        ("mine.py", MINE + "\n\n# at the end", True),
        ("base.py", BASE.replace("        self.log", "        # all of them\n        self.log"), True),
        # In the function of a finding a comment may affect the applicability of its fix.
        ("mine.py", MINE.replace(SHOW, "        # a word, on a line\n" + SHOW), False),
        ("mine.py", MINE.replace("    def", "  # odd\n    def"), False),
        (
            "mine.py",
            MINE.replace("        # it holds x = 3\n", "").replace("\n\n\n", "\n# it holds x = 3\n\n\n"),
            False,
        ),
    ],
)
def test_findings_move_with_their_code(project, analyses, path, text, is_moved):
    assert "TRL003" in said(".")
    (project / path).write_text(text, encoding="utf-8")
    assert assert_same(analyses, ".") is is_moved
    assert "TRL003" in said(".")


def test_a_comment_that_silences_does_so_at_once(project, analyses):
    args = ("--select=TRL003,TRL900", ".")
    on_one_line = MINE.replace("(\n            loss.item(),\n        )", "(loss.item())")
    (project / "mine.py").write_text(on_one_line, encoding="utf-8")
    assert "TRL003" in said(*args)
    (project / "mine.py").write_text(on_one_line.replace(".item())", ".item())  # noqa: TRL003"), encoding="utf-8")
    assert assert_moved(analyses, *args) == ""
    (project / "mine.py").write_text(on_one_line.replace(".item())", ".item())  # noqa: E501"), encoding="utf-8")
    assert not assert_same(analyses, *args)
    assert "TRL003" in said(*args)


WRAPPED = """from accelerate import Accelerator
from transformers import AutoModelForCausalLM

accelerator = Accelerator()
model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
model.gradient_checkpointing_enable()
model.save_pretrained("x")
"""


@pytest.mark.parametrize(
    ("silenced", "left"), [("enable(", ["7:1"]), ('save_pretrained("x"', ["6:1"]), ("none", ["6:1"])]
)
def test_one_of_two_places_with_one_cause_is_silenced(project, analyses, silenced, left):
    args = ("--select=TRL002", "mine.py")
    (project / "mine.py").write_text(WRAPPED, encoding="utf-8")
    assert said(*args).count("TRL002") == 1
    text = WRAPPED.replace(f"{silenced})\n", f"{silenced})  # noqa: TRL002\n")
    (project / "mine.py").write_text(text, encoding="utf-8")
    assert_same(analyses, *args)
    assert [line.split(": TRL002")[0] for line in said(*args).splitlines() if "TRL002" in line] == [
        f"mine.py:{place}" for place in left
    ]


GUARDED = """from accelerate import Accelerator

accelerator = Accelerator()


def step(loss):
    if accelerator.is_main_process:
        print(accelerator.gather(loss))
"""
PLACED = """import json
from accelerate import Accelerator


class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        self.output_dir = make_folder()

    def save(self):
        with open(self.output_dir + "/x.json", "w") as file:
            json.dump({}, file)
"""


@pytest.mark.parametrize(
    ("text", "line", "comment"),
    [(GUARDED, "is_main_process:", "  # only there"), (PLACED, "make_folder()", "  # each rank has its own")],
)
def test_a_comment_that_decides_is_read(project, analyses, text, line, comment):
    """It affects the applicability of a fix, or whether there is a finding."""
    (project / "mine.py").write_text(text, encoding="utf-8")
    said("--select=ALL", "mine.py")
    (project / "mine.py").write_text(text.replace(line, line + comment), encoding="utf-8")
    assert not assert_same(analyses, "--select=ALL", "mine.py")


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
        # A message may quote what is in brackets, and some facts come from the text of a file.
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
    """Edits may contain comments."""
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
    from trl_lint.linter.store.cache import Cache

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


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 16])
def test_on_fixtures(project, analyses, step):
    """Comments and blank lines anywhere between statements, and comments at their ends; on all in the slow ones."""
    draw = random.Random(SEED)
    moved = []
    for path in sorted(path for each in FIXTURES.glob("*/proof.toml") for path in each.parent.glob("*.py"))[::step]:
        moved += _try_one(project / path.parent.name, path, draw, analyses)
    assert len(moved) > 300 / step and sum(moved) > 150 / step


def _try_one(folder: Path, path: Path, draw: random.Random, analyses: list[object]) -> list[bool]:
    """Two successive changes of a program: whether its findings were moved."""
    folder.mkdir(exist_ok=True)
    text = path.read_text(encoding="utf-8")
    (folder / path.name).write_text(text, encoding="utf-8")
    args = ("--select=ALL", "--isolated", str(folder / path.name))
    said(*args)
    moved = []
    for _ in range(2):
        (folder / path.name).write_text(with_comments(text, draw), encoding="utf-8")
        moved.append(assert_same(analyses, *args))
    return moved


def with_comments(text: str, draw: random.Random) -> str:
    """The text with lines between its statements, and comments at the ends of some."""
    lines = text.splitlines()
    starts = _between(text)
    for number in sorted(starts, reverse=True):
        if draw.random() < 0.05:
            lines[number - 1] += draw.choice(["", "  # on each rank, its own", "  # noqa", "  # once on each node"])
        if draw.random() < 0.05:
            added = draw.choice(["", "# a comment", "        # deeper than the rest", "# the main process alone"])
            lines.insert(number - 1, added)
    return "\n".join(lines) + "\n"


def _between(text: str) -> list[int]:
    """The lines at which a statement starts or ends."""
    found = [
        each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.stmt) and each.lineno == each.end_lineno
    ]
    return sorted({each.lineno for each in found} - _decorated(text))


def _decorated(text: str) -> set[int]:
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
    found = lines_moved(before.encode(), now.encode())
    assert (None if found is None else dict(found.now)) == moved


@pytest.mark.filterwarnings("error")
def test_code_that_python_warns_of_or_that_is_too_deep():
    warned = b"a = '\\d'\n"
    moved = lines_moved(warned, b"# new\n" + warned)
    assert moved is not None
    assert moved.now == {1: 2}
    deep = b"a = " + b"-" * 100_000 + b"1\n"
    assert lines_moved(deep, b"# new\n" + deep) is None

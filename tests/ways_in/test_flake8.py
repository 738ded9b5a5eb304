"""The flake8 plugin in a real flake8: it finds what `trl-lint` finds, and flake8 keeps working.

Most runs are forks of a process that has imported flake8 (`forks.py`); a few of each kind are separate processes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forks import module
from samples import BASE, BROKEN, FIXTURES, MINE, marks

LINE = re.compile(r"(?P<path>.*?):(?P<row>\d+):(?P<column>\d+): (?P<code>\w+) (?P<text>.*)")

HELPERS = """from accelerate import Accelerator


def log_mean(accelerator: Accelerator, name, value):
    accelerator.log({name: value.float().mean().item()})
"""
LOOP = """from accelerate import Accelerator
from helpers import log_mean


def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        log_mean(accelerator, "mean", model(**batch).loss)
"""
GATHER = """from accelerate import Accelerator

accelerator = Accelerator()


def total(loss):
    return accelerator.gather(loss.item())
"""
Place = tuple[str, int, int, str]
Start = Callable[..., subprocess.CompletedProcess[str]]


def run(*args: str | Path, folder: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Run a separate process, as users do."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, args)], cwd=folder, input=stdin, capture_output=True, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def flake8(*args: str | Path, folder: Path, stdin: bytes | None = None, start: Start = module) -> list[Place]:
    """What flake8, without complaints, reports of our rules: path, line, column, code."""
    done = start("flake8", *args, folder=folder, stdin=stdin)
    assert not done.stderr
    matches = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert all(matches), done.stdout
    rows = [(os.path.normpath(m["path"]), int(m["row"]), int(m["column"]), m["code"]) for m in matches if m]
    return sorted(row for row in rows if row[3].startswith("TRL"))


def trl_lint(*args: str | Path, folder: Path, start: Start = module) -> list[Place]:
    """What `trl-lint` reports, in the same form."""
    return sorted(_place(row, folder) for row in _rows(*args, folder=folder, start=start))


def told_with_others(*args: str | Path, folder: Path, start: Start = module) -> list[Place]:
    """The places of what `trl-lint` tells with another finding, as they have one cause."""
    rows = _rows(*args, folder=folder, start=start)
    return [_place(each, folder) for row in rows for each in row["also"]]


def _rows(*args: str | Path, folder: Path, start: Start) -> list[dict[str, Any]]:
    done = start("trl_lint", "--output-format=json", *args, folder=folder)
    assert not done.stderr
    return json.loads(done.stdout)


def _place(row: dict[str, Any], folder: Path) -> Place:
    return (os.path.relpath(row["filename"], folder), row["location"]["row"], row["location"]["column"], row["code"])


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


# The same findings


# All but the first programs of each rule.
FURTHER = ("broken_*", "fixed*", "quiet_*")


@pytest.mark.parametrize(
    ("jobs", "left_out"),
    [
        pytest.param("-j1", (), id="-j1", marks=pytest.mark.slow),
        pytest.param("-j2", (), id="-j2", marks=pytest.mark.slow),
        pytest.param("-j2", FURTHER, id="-j2, the first of each rule"),
    ],
)
def test_the_fixtures(jobs, left_out, tmp_path):
    # flake8 handles comments itself, so nothing is reported about them.
    ignored = shutil.ignore_patterns("unused_noqa", *left_out)
    folder = shutil.copytree(FIXTURES, tmp_path / "fixtures", ignore=ignored)
    (folder / "pyproject.toml").write_text('[tool.trl-lint]\nselect = ["ALL"]\npreview = true\n')
    found = flake8("--isolated", jobs, ".", folder=folder, start=run)
    expected = [
        (str(path.relative_to(folder)), *mark)
        for path in folder.rglob("*.py")
        for mark in marks(path.read_text(encoding="utf-8"))
    ]
    # The launches of a Python file carry no marks; flake8 gets no files of another kind.
    launches = [row for row in found if row[3] == "TRL004"]
    assert {path for path, *_ in launches} == {"bare_python_launch/launches/start.py"}
    everything = ("--isolated", "--preview", "--select=ALL", ".")
    places = {*found, *told_with_others(*everything, folder=folder)}
    assert sorted((path, row, code) for path, row, _, code in places if code != "TRL004") == sorted(expected)
    assert {code for *_, code in found} == {"TRL004", *(code for *_, code in expected)}
    own = trl_lint(*everything, folder=folder)
    assert found == [row for row in own if row[0].endswith(".py")]


def test_nothing_need_be_configured(tmp_path):
    """A plain `flake8`, in a folder that contains only code."""
    write(tmp_path, **BROKEN)
    found = flake8(folder=tmp_path, start=run)
    assert found == trl_lint(folder=tmp_path, start=run)
    expected = [(f"{name}.py", *mark) for name, text in BROKEN.items() for mark in marks(text)]
    assert [(path, row, code) for path, row, _, code in found] == sorted(expected)
    assert {code for *_, code in found} == {"TRL001", "TRL002", "TRL003"}


def test_the_text_ends_with_what_to_write(tmp_path):
    write(tmp_path, **BROKEN)
    lines = texts("--isolated", folder=tmp_path)
    done = module("trl_lint", "--isolated", "--output-format=json", folder=tmp_path)
    rows = json.loads(done.stdout)
    expected = {f"{row['code']} [{row['consequence']}] {row['name']}: {row['message']}": row["help"] for row in rows}
    assert all(expected.values())
    assert {line.partition(" (help: ")[0]: line.partition(" (help: ")[2][:-1] for line in lines} == expected


def texts(*args: str, folder: Path) -> list[str]:
    """flake8's messages for our rules, without the places."""
    lines = module("flake8", *args, folder=folder).stdout.splitlines()
    return [line.split(": ", 1)[1] for line in lines if ": TRL" in line]


@pytest.mark.parametrize("args", [("-j1", "mine.py"), ("-j2", "."), ("-j1", ".")])
def test_a_base_class_in_another_file(tmp_path, args):
    write(tmp_path, base=BASE, mine=MINE)
    assert flake8(*args, folder=tmp_path) == [("mine.py", 7, 9, "TRL003")]


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize("files", [("helpers.py", "loop.py"), ("loop.py", "helpers.py"), (".",)])
def test_a_finding_that_shows_in_another_file(tmp_path, jobs, files):
    """All files are analysed together, in whatever order and process they are checked."""
    write(tmp_path, helpers=HELPERS, loop=LOOP)
    assert flake8(jobs, *files, folder=tmp_path) == [("helpers.py", 5, 5, "TRL003")]
    assert trl_lint(*files, folder=tmp_path) == [("helpers.py", 5, 5, "TRL003")]


@pytest.mark.parametrize("name", ["helpers.py", "loop.py"])
def test_one_file_is_what_trl_lint_makes_of_one_file(tmp_path, name):
    write(tmp_path, helpers=HELPERS, loop=LOOP)
    found = [("helpers.py", 5, 5, "TRL003")] if name == "helpers.py" else []
    assert flake8(name, folder=tmp_path) == trl_lint(name, folder=tmp_path) == found


@pytest.mark.parametrize(
    "content",
    [
        GATHER.replace("\n", "\r\n").encode(),
        GATHER.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + GATHER.encode(),
        b"\xef\xbb\xbf" + GATHER.replace("\n", "\r\n").encode(),
        f"# -*- coding: latin-1 -*-\n{GATHER}".replace("return ", "'é'; return ").encode("latin-1"),
        GATHER.replace("return ", "'日本 \U0001f600'; return ").encode(),
        GATHER.replace("return ", "'\x0c \u2028'; return ").encode(),
        GATHER.rstrip().encode(),
    ],
    ids=["crlf", "cr", "bom", "bom crlf", "latin-1", "wide", "odd lines", "no last line end"],
)
@pytest.mark.parametrize("door", ["file", "stdin"])
def test_texts_of_all_kinds(tmp_path, content, door):
    (tmp_path / "x.py").write_bytes(content)
    args = ("x.py",) if door == "file" else ("--stdin-display-name=x.py", "-")
    ours = trl_lint("x.py", folder=tmp_path)
    assert len(ours) == 1
    if door == "stdin" and b"\r" in content.replace(b"\r\n", b""):
        pytest.skip("flake8 itself does not take such a text for several lines")
    assert flake8(*args, folder=tmp_path, stdin=content) == ours


# Unsaved buffers


def test_an_unsaved_buffer(tmp_path):
    """The text is the unsaved one; base classes are those next to the file that it belongs to."""
    (tmp_path / "pkg").mkdir()
    write(tmp_path / "pkg", base=BASE, mine="x = 1\n")
    args = ("--stdin-display-name", "pkg/mine.py", "-")
    assert flake8(*args, folder=tmp_path, stdin=MINE.encode(), start=run) == [("pkg/mine.py", 7, 9, "TRL003")]
    assert flake8(*args, folder=tmp_path, stdin=b"x = 1\n") == []


def test_a_buffer_without_a_name(tmp_path):
    assert flake8("-", folder=tmp_path, stdin=GATHER.encode()) == [("stdin", 7, 12, "TRL001")]


def test_a_buffer_of_a_file_that_is_not_there_yet(tmp_path):
    write(tmp_path, base=BASE)
    args = ("--stdin-display-name", "new.py", "-")
    assert flake8(*args, folder=tmp_path, stdin=MINE.encode()) == [("new.py", 7, 9, "TRL003")]


# flake8's own options


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], ["TRL001"]),
        (["--select=TRL"], ["TRL001"]),
        (["--select=TRL001"], ["TRL001"]),
        (["--select=TRL002"], []),
        (["--select=E"], []),
        (["--select=E", "--extend-select=TRL001"], ["TRL001"]),
        (["--ignore=TRL001"], []),
        (["--extend-ignore=TRL"], []),
        (["--extend-ignore=TRL002"], ["TRL001"]),
        (["--per-file-ignores=x.py:TRL001"], []),
        (["--per-file-ignores=y.py:TRL001"], ["TRL001"]),
    ],
)
def test_selection(tmp_path, options, codes):
    write(tmp_path, x=GATHER)
    assert [code for *_, code in flake8(*options, folder=tmp_path)] == codes


COMMENTS = [
    ("# noqa", []),
    ("# noqa: TRL001", []),
    ("# noqa: item-before-gather", []),
    ("# noqa: E501, item-before-gather", []),
    ("# noqa: E501,TRL001", []),
    ("# noqa: TRL0", []),
    ("# noqa: E501", ["TRL001"]),
    ("# noqa: TRL002", ["TRL001"]),
    ("# noqa: E501, unreduced-metric", ["TRL001"]),
]


@pytest.mark.parametrize(("comment", "codes"), COMMENTS)
def test_noqa(tmp_path, comment, codes):
    write(tmp_path, x=f"{GATHER.rstrip()}  {comment}\n")
    assert [code for *_, code in flake8("x.py", folder=tmp_path)] == codes
    assert [code for *_, code in trl_lint("x.py", folder=tmp_path)] == codes
    assert [code for *_, code in flake8("--disable-noqa", "x.py", folder=tmp_path)] == ["TRL001"]


@pytest.mark.parametrize("line", ["# flake8: noqa", "# flake8: noqa: TRL001", "# flake8: noqa: item-before-gather"])
def test_noqa_for_a_file(tmp_path, line):
    write(tmp_path, x=f"{line}\n{GATHER}")
    assert flake8("x.py", folder=tmp_path) == trl_lint("x.py", folder=tmp_path) == []
    assert len(flake8("--disable-noqa", "x.py", folder=tmp_path)) == 1


# Settings


@pytest.mark.parametrize("args", [("-j1", "."), ("-j2", "."), ("sub/x.py",), ("--stdin-display-name=sub/x.py", "-")])
@pytest.mark.parametrize(
    ("table", "codes"),
    [
        ("", ["TRL001"]),
        ("ignore = ['item-before-gather']", []),
        ("select = ['TRL002']", []),
        ("exclude = ['sub']", []),
        ("exclude = ['other']", ["TRL001"]),
    ],
)
def test_settings(tmp_path, args, table, codes):
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", x=GATHER)
    (tmp_path / "pyproject.toml").write_text(f"[tool.trl-lint]\n{table}\n")
    found = flake8(*args, folder=tmp_path, stdin=GATHER.encode())
    assert [code for *_, code in found] == codes


OWN = """from mylib import Base, push


class Mine(Base):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        push({"loss": loss.item()})
        return loss
"""


@pytest.mark.parametrize("args", [("-j1", "."), ("-j2", "."), ("--stdin-display-name=x.py", "-")])
def test_a_file_that_only_the_settings_make_matter(tmp_path, args):
    """It names no library, only users' own names."""
    write(tmp_path, x=OWN)
    table = "[tool.trl-lint]\nsinks = ['mylib.push']\ntrainer-bases = ['mylib.Base']\n"
    (tmp_path / "pyproject.toml").write_text(table)
    assert flake8(*args, folder=tmp_path, stdin=OWN.encode()) == [("x.py", 7, 9, "TRL003")]


def test_each_project_has_its_own_settings(tmp_path):
    for name, table in (("a", "ignore = ['TRL001']"), ("b", "")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, x=GATHER)
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.trl-lint]\n{table}\n")
    assert [path for path, *_ in flake8("a", "b", folder=tmp_path)] == ["b/x.py"]


@pytest.mark.parametrize("args", [("-j1", "."), ("-j2", "."), ("-",)])
@pytest.mark.parametrize("table", ["selct = []", "select = ['TRL8']", "select = 3", "="])
def test_bad_settings_are_one_clear_line(tmp_path, args, table):
    write(tmp_path, x=GATHER, y=GATHER)
    (tmp_path / "pyproject.toml").write_text(f"[tool.trl-lint]\n{table}\n")
    done = module("flake8", *args, folder=tmp_path, stdin=GATHER.encode())
    assert (done.returncode, done.stderr) == (1, "")
    heading, said = done.stdout.splitlines()
    assert heading == "There was a critical error during execution of Flake8:"
    assert said.startswith("trl-lint: ")


# Bad input


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_what_can_not_be_parsed_is_said_by_flake8_alone(tmp_path, jobs):
    write(tmp_path, bad=f"{GATHER}\n(((\n", x=GATHER)
    done = run("flake8", jobs, "--select=E9,TRL", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["E999", "TRL001"]


def test_what_can_not_be_read_is_said_by_flake8_alone(tmp_path):
    write(tmp_path, x=GATHER)
    done = run("flake8", "--select=E9,TRL", "gone.py", "x.py", folder=tmp_path)
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["E902", "TRL001"]
    assert not done.stderr


CRASHING = """
import sys
from trl_lint.linter.linter import Linter

real = Linter.check

def check(self, path, source):
    if path.name == "a.py":
        raise KeyError("some\\nkey")
    return real(self, path, source)

Linter.check = check
from flake8.main.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_an_error_of_ours_does_not_stop_flake8(tmp_path, jobs):
    write(tmp_path, a=GATHER + "import os\n", b=GATHER)
    done = subprocess.run(
        [sys.executable, "-c", CRASHING, jobs, "--select=F,TRL"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "trl-lint: a.py: internal error: KeyError: 'some\\nkey' (please report it)\n"
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["./a.py:8:1:", "F401"],
        ["./b.py:7:12:", "TRL001"],
    ]


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_what_fails_for_all_files_together_is_done_for_each_alone(tmp_path, jobs):
    write(tmp_path, a=GATHER, b=GATHER)
    script = (
        "import sys; from trl_lint.linter.linter import Linter; Linter.prepare = None\n"
        "from flake8.main.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", script, jobs]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["./a.py:7:12:", "TRL001"],
        ["./b.py:7:12:", "TRL001"],
    ]


# What it costs

HEAVY = ("libcst", "rich", "click", "pathspec", "msgspec", "tomllib", "torch")
LOOK = """
import sys
from flake8.main.cli import main
try: main()
finally: print("loaded", [name for name in {names} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_files_without_training_code_cost_no_import(tmp_path, jobs):
    write(tmp_path, x='"""Of the Trainer, and how it can gather."""\n', y="import ctrl\n\nctrl.gather()\n")
    script = LOOK.format(names=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script, jobs], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "loaded []\n")


def test_training_code_costs_only_what_a_check_needs(tmp_path):
    write(tmp_path, x=GATHER)
    script = LOOK.format(names=("rich", "click", "libcst.matchers", "libcst.codemod", "torch"))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "TRL001" in done.stdout
    assert done.stderr == "loaded []\n"


# In one process, more than once


def test_the_python_interface(tmp_path, monkeypatch, capsys):
    """One style guide may be given files repeatedly, and these may change in between."""
    from flake8.api.legacy import get_style_guide

    monkeypatch.chdir(tmp_path)
    write(tmp_path, base=BASE, mine=MINE, x=GATHER, y="x = 1\n")
    (tmp_path / ".flake8").write_text("[flake8]\nignore = TRL\njobs = 1\n")
    guide = get_style_guide(ignore=["E"])

    def codes(*names: str) -> list[str]:
        guide.check_files(list(names))
        return [line.split()[1] for line in capsys.readouterr().out.splitlines() if "TRL" in line]

    assert codes("mine.py") == ["TRL003"]
    assert codes("x.py", "y.py") == ["TRL001"]
    write(tmp_path, x=GATHER.replace(".item()", ""), y=GATHER)
    assert codes("x.py", "y.py") == ["TRL001"]
    write(tmp_path, y="x = 1\n")
    assert codes("x.py", "y.py") == []


def test_the_wordy_comment_is_obeyed(tmp_path):
    bug = next(line for line in GATHER.splitlines() if "gather" in line and "import" not in line)
    silenced = GATHER.replace(bug, f"{bug}  # trl-lint: ignore[item-before-gather] -- on purpose")
    write(tmp_path, x=GATHER, y=silenced)
    assert {path for path, *_ in flake8("--select=TRL", ".", folder=tmp_path)} == {"x.py"}


def test_of_comments_nothing_is_said(tmp_path):
    """flake8 decides what a comment silences, which the linter does not see."""
    write(tmp_path, x=f"{GATHER}x = 1  # noqa: TRL003\ny = 2  # noqa: E501, unreduced-metrics\n")
    assert {code for *_, code in trl_lint(".", folder=tmp_path)} == {"TRL001", "TRL900"}
    assert {code for *_, code in flake8(".", folder=tmp_path)} == {"TRL001"}

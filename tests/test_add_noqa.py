"""`--add-noqa`: what it writes and where, what it leaves alone, and that no finding is left after it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from adopting import BUG, HEAD, PROGRAM, places, released_trl, run

LAUNCHES = Path(__file__).parents[1] / "fixtures" / "bare_python_launch" / "launches"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def added(text: str, encoding: str = "utf-8") -> str:
    """The text of a file after the command; then no finding is left, and a second run changes nothing."""
    path = Path("train.py")
    path.write_bytes(text.encode(encoding))
    assert run("--isolated", "--select=ALL", "--add-noqa", ".").code == 0
    once = path.read_bytes()
    assert places("--isolated", "--select=ALL", ".") == []
    assert run("--isolated", "--select=ALL", "--add-noqa", ".").out.startswith("Silenced 0 findings in 0 files.\n")
    assert path.read_bytes() == once
    return once.decode(encoding)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BUG, f"{BUG}  # noqa: TRL003"),
        (f"{BUG}   ", f"{BUG}  # noqa: TRL003"),
        (f"{BUG}  # of this rank", f"{BUG}  # of this rank  # noqa: TRL003"),
        (f"{BUG}  # noqa: E501", f"{BUG}  # noqa: E501, TRL003"),
        (f"{BUG}  # noqa:E501 it is long", f"{BUG}  # noqa:E501, TRL003 it is long"),
        (f"{BUG}  # noqa: mean-of-mean", f"{BUG}  # noqa: mean-of-mean, TRL003, TRL900"),
        (f"{BUG}  # trl-lint: ignore[TRL003] -- why", f"{BUG}  # trl-lint: ignore[TRL003] -- why"),
        (
            'self.log({"a": """of\n  one""", "shard/loss": loss.detach().mean()})',
            'self.log({"a": """of\n  one""", "shard/loss": loss.detach().mean()})  # noqa: TRL003',
        ),
        (
            'self.log(\\\n            {"shard/loss": loss.detach().mean()})',
            'self.log(\\\n            {"shard/loss": loss.detach().mean()})  # noqa: TRL003',
        ),
        (
            'self.log(\n            {"shard/loss": loss.detach().mean()}\n        )',
            'self.log(  # noqa: TRL003\n            {"shard/loss": loss.detach().mean()}\n        )',
        ),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_where_it_stands(before, after, end):
    text, wanted = (f"{HEAD}        {each}\n        return loss\n".replace("\n", end) for each in (before, after))
    assert added(text) == wanted


@pytest.mark.parametrize(
    ("encoding", "head"), [("utf-8-sig", ""), ("latin-1", "# coding: latin-1\n# é\n"), ("utf-8", "# \x0c é\n")]
)
def test_encodings_stay(encoding, head):
    assert added(head + PROGRAM, encoding) == head + PROGRAM.replace(BUG, f"{BUG}  # noqa: TRL003")


@pytest.mark.parametrize(
    ("encoding", "letters"), [("cp932", b"\xee\xf9"), ("idna", b"xn--a"), ("iso2022_jp", b"\x1b$B\x1b(B")]
)
def test_bytes_that_their_own_encoding_would_not_make_stay(folder, encoding, letters):
    before = f"# coding: {encoding}\n# ".encode() + letters + f"\n{HEAD}        ".encode()
    Path("train.py").write_bytes(before + f"{BUG}\n".encode())
    run("--isolated", "--add-noqa", ".")
    assert Path("train.py").read_bytes() == before + f"{BUG}  # noqa: TRL003\n".encode()


def test_a_last_line_without_an_end():
    text = f"{HEAD}        {BUG}"
    assert added(text) == f"{text}  # noqa: TRL003"


def test_where_a_string_looks_like_the_comment_there_is_none(folder):
    bug = 'self.log({"a": """# noqa: E501\n""", "shard/loss": loss.detach().mean()})'
    text = f"{HEAD}        {bug}\n        {BUG}\n"
    Path("train.py").write_text(text)
    done = run("--isolated", "--add-noqa", ".")
    assert (done.code, done.out.splitlines()[0]) == (1, "Silenced 1 finding in 1 file.")
    assert done.err == "train.py:7:9: TRL003: not silenced: a string there looks like a comment that silences it\n"
    assert Path("train.py").read_text() == f"{HEAD}        {bug}\n        {BUG}  # noqa: TRL003\n"
    assert places("--isolated", ".") == ["train.py:7:9: TRL003"]


def test_launch_files(folder):
    """If a comment would become an argument, none is written, and that is reported."""
    shutil.copytree(LAUNCHES, folder / "launches")
    before = {path: path.read_bytes() for path in (folder / "launches").iterdir()}
    found = places("--isolated", "--select=TRL004", ".")
    done = run("--isolated", "--select=TRL004", "--add-noqa", ".")
    left = [f"{line.partition(': not')[0]}" for line in done.err.splitlines()]
    assert len(found) > 40 > 5 > len(left)
    assert places("--isolated", "--select=TRL004", ".") == left
    assert {line.partition(":")[0] for line in left} == {"launches/Dockerfile", "launches/GUIDE.md"}
    for path, content in before.items():
        for old, new in zip(content.splitlines(), path.read_bytes().splitlines(), strict=True):
            assert new.replace(b"  # noqa: TRL004", b"") == old
    assert {path.name for path in before} - {
        path.name for path, content in before.items() if content != path.read_bytes()
    } == {"prepare.py", "train.py"}


def test_notebooks(folder):
    """Python and shell commands in the cells of one notebook; everything that is not code stays byte for byte."""
    (folder / "train.py").write_text("from trl import SFTTrainer\nSFTTrainer(args=1).train()\n")
    two = "python train.py; python train.py"
    cells = [
        PROGRAM.splitlines(keepends=True),
        ["%env CUDA_VISIBLE_DEVICES=0,1\n", "!python train.py \\\n", "    --seed 1\n", f"!{two}"],
    ]
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1}
    rows = [{**empty, "source": each} for each in cells]
    path = folder / "train.ipynb"
    path.write_text(json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    before = path.read_text().splitlines()
    done = run("--isolated", "--select=ALL", "--add-noqa", ".")
    assert (done.code, done.err) == (0, "")
    lines = zip(before, path.read_text().splitlines(), strict=True)
    assert sum(old != new for old, new in lines) == 3
    sources = ["".join(each["source"]) for each in json.loads(path.read_text())["cells"]]
    assert sources == [
        PROGRAM.replace(BUG, f"{BUG}  # noqa: TRL003"),
        f"%env CUDA_VISIBLE_DEVICES=0,1\n!python train.py \\\n    --seed 1  # noqa: TRL004\n!{two}  # noqa: TRL004",
    ]
    assert places("--isolated", "--select=ALL", ".") == []


def test_a_file_that_may_not_be_written(folder):
    path = folder / "train.py"
    path.write_text(PROGRAM)
    os.chmod(path, 0o444)
    done = run("--isolated", "--add-noqa", ".")
    assert (done.code, done.err) == (2, "train.py: no comments added: the file is read-only\n")
    assert path.read_text() == PROGRAM


@pytest.mark.parametrize("other", ["--fix", "--diff", "--fix-only", "--write-baseline", "--statistics", "-"])
def test_what_it_can_not_be_combined_with(other):
    done = run("--add-noqa", other)
    assert done.code == 2 and "--add-noqa can't be combined with" in done.err


def test_each_place_of_a_finding_at_several_gets_its_own():
    text = """from transformers import Trainer


class Reading(Trainer):
    def training_step(self, model, inputs, *args):
        width = model.config.width
        size = (
            model.config.size
        )
        depth = model.config.depth  # noqa: E501
        return super().training_step(model, inputs, *args)
"""
    marked = added(text)
    assert "width  # noqa: TRL002\n" in marked and "# noqa: E501, TRL002\n" in marked


def test_each_place_of_a_finding_in_a_cell_gets_its_own(folder):
    """Their lines are those of the cell, and not of all cells."""
    text = """class Reading(Trainer):
    def training_step(self, model, inputs, *args):
        width = model.config.width
        depth = model.config.depth
        return super().training_step(model, inputs, *args)"""
    cells = ["!nvidia-smi\n\n\n\nfrom transformers import Trainer", text]
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1}
    rows = [{**empty, "source": each.splitlines(keepends=True)} for each in cells]
    path = folder / "train.ipynb"
    path.write_text(json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    assert run("--isolated", "--select=ALL", "--add-noqa", ".").code == 0
    sources = ["".join(each["source"]) for each in json.loads(path.read_text())["cells"]]
    assert sources == [
        cells[0],
        text.replace("width\n", "width  # noqa: TRL002\n").replace("depth\n", "depth  # noqa: TRL002\n"),
    ]
    assert places("--isolated", "--select=ALL", ".") == []


@pytest.mark.slow
@pytest.mark.index
def test_of_a_release_nothing_is_left(tmp_path):
    tree = released_trl(tmp_path)
    before = {path: path.read_text(encoding="utf-8") for path in tree.rglob("*.py")}
    done = run("--select=ALL", "--add-noqa", "release")
    assert (done.code, done.err) == (0, "")
    assert int(done.out.split()[1]) > 40
    assert run("--select=ALL", "release").out.startswith("All clear: no findings.\n")
    for path, text in before.items():
        for old, new in zip(text.splitlines(), path.read_text(encoding="utf-8").splitlines(), strict=True):
            assert new == old or new.startswith(f"{old}  # noqa: TRL")

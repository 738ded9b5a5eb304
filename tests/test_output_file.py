"""`--output-file`, `--quiet`: what is written where, and a file that is written completely or not at all."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_linter import FakeLinter

from trl_lint.frontends.cli import main
from trl_lint.linter.files import writing

FOUND = "x.py:1:5: TRL001 [*] [crash] item-before-gather: BUG is here\n"
SUMMARY = "Found 1 finding in 1 file (1 fixable with --fix).\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a finding, and a linter that finds words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trl_lint.linter.linter.Linter", FakeLinter)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "x.py").write_text("x = BUG\n")
    return tmp_path


def call(*args: str, stdin: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(args), input=stdin)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["--output-file", "-o"])
def test_the_report_goes_into_the_file_and_nowhere_else(folder, option):
    assert call(option, "found.txt", "x.py") == (1, "", "")
    assert (folder / "found.txt").read_text() == FOUND + SUMMARY
    assert sorted(os.listdir(folder)) == ["found.txt", "x.py"]
    (folder / "x.py").write_text("x = 1\n")
    assert call(option, "found.txt", "--output-format=json", "x.py") == (0, "", "")
    assert (folder / "found.txt").read_text() == "[]\n"


@pytest.mark.parametrize("path", ["gone/found.txt", "x.py/found.txt", "."])
def test_a_path_that_can_not_be_written_is_an_error_before_the_work(folder, monkeypatch, path):
    monkeypatch.setattr(FakeLinter, "prepare", lambda *_: pytest.fail("it has begun"))
    code, out, err = call("--fix", "-o", path, "x.py")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{path}: cannot write: " in err
    assert (folder / "x.py").read_text() == "x = BUG\n"


def test_what_fails_in_the_end_is_an_error_and_leaves_the_old_file(folder, monkeypatch):
    (folder / "found.txt").write_text("old\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    code, out, err = call("-o", "found.txt", "x.py")
    assert (code, out) == (2, "")
    assert err == "trl-lint: found.txt: cannot write: No space left on device\n"
    assert (folder / "found.txt").read_text() == "old\n"
    assert call("-o", "new.txt", "x.py")[0] == 2
    assert sorted(os.listdir(folder)) == ["found.txt", "x.py"]


def test_a_read_only_file_stays_as_it_is(folder):
    path = folder / "found.txt"
    path.write_text("old\n")
    path.chmod(0o444)
    assert call("-o", "found.txt", "x.py") == (2, "", "trl-lint: found.txt: cannot write: the file is read-only\n")
    assert path.read_text() == "old\n"


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_any(folder):
    path = folder / "found.txt"
    path.write_text("old\n")
    path.chmod(0o640)
    (folder / "link.txt").symlink_to(path)
    call("-o", "link.txt", "x.py")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o640, FOUND + SUMMARY)
    assert (folder / "link.txt").is_symlink()
    before = os.umask(0o027)
    try:
        call("-o", "new.txt", "x.py")
    finally:
        os.umask(before)
    assert (folder / "new.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_a_pipe_gets_it_as_it_is(folder):
    os.mkfifo(folder / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((folder / "pipe").read_text()))
    reader.start()
    assert call("-o", "pipe", "x.py") == (1, "", "")
    reader.join(10)
    assert read == [FOUND + SUMMARY]


@pytest.mark.parametrize(("choice", "coloured"), [("auto", False), ("never", False), ("always", True)])
def test_a_file_has_colour_only_where_that_is_chosen(folder, monkeypatch, choice, coloured):
    monkeypatch.setenv("FORCE_COLOR", "1")
    call("-o", "found.txt", "--output-format=text", f"--color={choice}", "x.py")
    assert ("\x1b[" in (folder / "found.txt").read_text()) is coloured


def test_failures_are_still_said(folder):
    (folder / "cut.py").write_text("(((")
    code, out, err = call("-o", "found.json", "--output-format=json", "-q", ".")
    assert (code, out, err) == (2, "", "cut.py:1:2: cannot parse: unexpected end\n")
    assert [row["code"] for row in json.loads((folder / "found.json").read_text())] == ["TRL001"]


def test_the_code_that_was_fixed_goes_to_standard_output(folder):
    code, out, err = call("--fix", "-o", "found.txt", "-", stdin="x = BUG\ny = HINT\n")
    assert (code, out, err) == (1, "x = good\ny = HINT\n", "")
    assert "TRL002" in (folder / "found.txt").read_text()


def test_a_diff_can_be_applied_from_there(folder):
    assert call("--diff", "-q", "-o", "x.patch", "x.py") == (1, "", "")
    assert (folder / "x.patch").read_bytes() == b"--- x.py\n+++ x.py\n@@ -1 +1 @@\n-x = BUG\n+x = good\n"


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet(folder, option):
    assert call(option, "x.py") == (1, FOUND, "")
    assert call(option, "--diff", "x.py")[2] == ""
    (folder / "empty").mkdir()
    assert call("empty")[2].startswith("warning: no files to lint")
    assert call(option, "empty") == (0, "", "")
    assert call(option, "gone.py")[0] == 2
    assert call(option, "gone.py")[2].startswith("gone.py: ")


def test_notes_are_not_failures(folder, monkeypatch):
    monkeypatch.setattr(FakeLinter, "remark", lambda *_: "not looked at: too large")
    assert call(".") == (1, FOUND + SUMMARY, "x.py: not looked at: too large\n")
    assert call("-q", ".") == (1, FOUND, "")

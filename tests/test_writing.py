"""What a fix keeps of a file besides its text: its name, its links, its owner, its mode, or everything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_linter import FakeLinter

from trl_lint.frontends.cli import main
from trl_lint.linter import ending
from trl_lint.linter.files import writing


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A project as the current folder, and a linter that finds words."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr("trl_lint.linter.linter.Linter", FakeLinter)
    return project


def fix(*args: str) -> tuple[int, str]:
    """The exit code and the output other than findings."""
    done = CliRunner().invoke(main, ["--fix", "--output-format=concise", *args])
    assert not ending.unfinished
    return done.exit_code, done.stderr


def file(path: Path, mode: int = 0o644) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("BUG\n")
    path.chmod(mode)
    return path


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.parametrize("named", [".", "x.py"])
@pytest.mark.parametrize("mark", ["pyproject.toml", ".git", None])
def test_a_link_out_of_the_project_is_not_written_through(folder, named, mark):
    if mark:
        (folder / mark).touch()
    victim = file(folder.parent / "other" / "victim.py")
    (folder / "x.py").symlink_to(victim)
    assert fix(named) == (2, f"x.py: not fixed: it is a link to {victim}, outside of the project\n")
    assert victim.read_text() == "BUG\n"
    assert names(victim.parent) == {"victim.py"}


def test_a_linked_folder_leads_out_of_the_project_as_well(folder):
    victim = file(folder.parent / "other" / "victim.py")
    (folder / "pyproject.toml").touch()
    (folder / "lib").symlink_to(victim.parent)
    assert fix("lib/victim.py")[0] == 2
    assert victim.read_text() == "BUG\n"


def test_links_inside_a_project_and_to_a_project_are_followed(folder, monkeypatch):
    (folder / "pyproject.toml").touch()
    real = file(folder / "real.txt")
    (folder / "x.py").symlink_to(real)
    (folder.parent / "linked").symlink_to(folder)
    assert fix(str(folder.parent / "linked"))[0] == 0
    assert (real.read_text(), (folder / "x.py").is_symlink()) == ("good\n", True)


def test_what_is_named_outside_of_the_project_is_no_link(folder):
    (folder / "pyproject.toml").touch()
    file(folder / "x.py")
    other = file(folder.parent / "other" / "y.py")
    assert fix("x.py", str(other))[0] == 0
    assert other.read_text() == "good\n"


def test_what_could_not_be_mended_is_reported(folder):
    file(folder / "x.py", 0o444)
    done = CliRunner().invoke(main, ["--fix", "--output-format=concise"])
    assert "x.py:1:1: TRL001" in done.stdout
    assert "not fixed: the file is read-only" in done.stderr


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400])
def test_a_read_only_file_stays_as_it_is(folder, mode):
    path = file(folder / "x.py", mode)
    assert fix() == (2, "x.py: not fixed: the file is read-only\n")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("BUG\n", mode)


def test_all_names_of_a_file_are_mended(folder):
    path = file(folder / "x.py", 0o751)
    os.link(path, folder / "other name")
    number = path.stat().st_ino
    assert fix("x.py")[0] == 0
    assert (folder / "other name").read_text() == path.read_text() == "good\n"
    assert (path.stat().st_ino, path.stat().st_nlink, stat.S_IMODE(path.stat().st_mode)) == (number, 2, 0o751)
    assert names(folder) == {"x.py", "other name"}


def test_a_file_with_one_name_is_replaced_in_one_step(folder):
    path = file(folder / "x.py")
    number = path.stat().st_ino
    with open(path) as reader:  # a process that reads it has the old text to the end
        assert fix()[0] == 0
        assert reader.read() == "BUG\n"
    assert (path.read_text(), path.stat().st_ino != number) == ("good\n", True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_stays_that_of_its_owner(folder):
    path = file(folder / "x.py")
    os.chown(path, 65534, 65533)
    path.chmod(0o4755)
    assert fix()[0] == 0
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65533, 0o4755)


def _can_not_be_handed_on(monkeypatch) -> None:
    def refuse(*args, **options):
        raise PermissionError(1, "Operation not permitted")

    real = Path.stat

    def found(path: Path, **options) -> os.stat_result:
        seen = real(path, **options)
        return _somebody_elses(seen) if path.name == "x.py" else seen

    monkeypatch.setattr(writing.os, "chown", refuse)
    monkeypatch.setattr(Path, "stat", found)


def _somebody_elses(found: os.stat_result) -> os.stat_result:
    return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))


def test_an_owner_that_can_not_be_handed_on_is_kept_by_writing_in_place(folder, monkeypatch):
    path = file(folder / "x.py")
    number = os.stat(path).st_ino
    _can_not_be_handed_on(monkeypatch)
    assert fix("x.py")[0] == 0
    assert (path.read_text(), os.stat(path).st_ino) == ("good\n", number)
    assert names(folder) == {"x.py"}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes")
def test_attributes_stay(folder):
    path = file(folder / "x.py")
    try:
        os.setxattr(path, "user.colour", b"red")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    assert fix()[0] == 0
    assert os.getxattr(path, "user.colour") == b"red"


@pytest.mark.parametrize("links", [1, 2])
def test_what_the_user_saves_at_the_last_moment_is_kept(folder, monkeypatch, links):
    """The new text is on the disk before the old one is checked for the last time."""
    path = file(folder / "x.py")
    if links == 2:
        os.link(path, folder / "other name")

    def save(*args) -> None:
        path.write_text("typed\n")

    monkeypatch.setattr(writing, "_copy_metadata" if links == 1 else "_reason_against", save)
    assert fix("x.py") == (2, "x.py: not fixed: the file has changed since it was read\n")
    assert path.read_text() == "typed\n"


@pytest.mark.parametrize("links", [1, 2])
def test_a_full_disk_leaves_the_file_whole(folder, monkeypatch, links):
    path = file(folder / "x.py")
    path.write_text("BUG\n" * 100)
    if links == 2:
        os.link(path, folder / "other name")
    left = iter([None])

    def full(handle: int) -> None:
        if next(left, 0) is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    assert fix("x.py") == (2, "x.py: not fixed: cannot write: No space left on device\n")
    assert path.read_text() == "BUG\n" * 100
    assert names(folder) == {"x.py"} | ({"other name"} if links == 2 else set())


def test_the_longest_name_can_be_mended(folder):
    path = file(folder / f"{'x' * 252}.py")
    assert fix()[0] == 0
    assert path.read_text() == "good\n"

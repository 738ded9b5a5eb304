"""The files that say how a project is run: which of them are read, and when answers about them would be the same."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest

from trl_lint.linter.execution import project_files
from trl_lint.linter.execution.project_files import ProjectFiles
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.execution.project_files import ProjectState


@pytest.fixture
def top(tmp_path) -> Path:
    for name in ("train.py", "scripts/run.sh", "nested/train.py", "tests/test_it.py", "picture.png"):
        put(tmp_path, name, "x")
    put(tmp_path, "pyproject.toml", "")
    return tmp_path


def put(top: Path, name: str, text: str) -> None:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).write_text(text)


def read(top: Path) -> list[str]:
    found: list[str] = []
    ProjectFiles(Settings(), top).read(top, lambda path, content: found.append(path.relative_to(top).as_posix()))
    return sorted(found)


def state(top: Path) -> ProjectState:
    """The state after an answer about a file, and about a launch that starts another one."""
    files = ProjectFiles(Settings(), top)
    files.read(top, lambda path, content: None)
    files.lies_below(top, PurePosixPath("scripts"), "../nested/train.py")
    files.lies_below(top, PurePosixPath("scripts"), "gone.py")
    stored: ProjectState = json.loads(json.dumps(files.state([top / "train.py"])))
    return stored


def test_which_files_are_read(top):
    assert read(top) == ["nested/train.py", "pyproject.toml", "scripts/run.sh", "train.py"]
    put(top, "nested/requirements.txt", "")
    assert read(top) == ["pyproject.toml", "scripts/run.sh", "train.py"]


def test_what_is_the_same(top):
    before = state(top)
    assert ProjectFiles(Settings(), top).are_as_in(before)
    put(top, "tests/test_it.py", "changed")
    put(top, "other.png", "new")
    assert ProjectFiles(Settings(), top).are_as_in(before)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "changed"),
        ("scripts/run.sh", "changed"),
        ("new.yaml", ""),
        ("new/train.py", ""),
        ("nested/setup.py", ""),
        ("scripts/gone.py", ""),
        ("gone.py", ""),
        (".gitignore", "scripts\n"),
    ],
)
def test_what_is_not_the_same(top, name, text):
    before = state(top)
    put(top, name, text)
    assert not ProjectFiles(Settings(), top).are_as_in(before)


def test_a_file_that_is_gone(top):
    before = state(top)
    (top / "scripts" / "run.sh").unlink()
    assert not ProjectFiles(Settings(), top).are_as_in(before)


def test_another_project_around_the_file(top):
    put(top, "lib/model.py", "")
    files = ProjectFiles(Settings(), top)
    before = files.state([top / "lib" / "model.py"])
    assert ProjectFiles(Settings(), top).are_as_in(before)
    put(top, "lib/setup.cfg", "")
    assert not ProjectFiles(Settings(), top).are_as_in(before)


def test_what_trains_with_lightning_counts_in_all_files_if_it_was_asked_for(top):
    assert state(top)["lightning"] is None
    files = ProjectFiles(Settings(), top)
    put(top, "solve.py", "loss.backward()")
    assert not files.may_run_lightning()
    before = files.state([top / "train.py"])
    assert ProjectFiles(Settings(), top).are_as_in(before)
    put(top, "tests/test_it.py", "from lightning import Trainer")
    assert not ProjectFiles(Settings(), top).are_as_in(before)


def test_too_many_files(top, monkeypatch):
    before = state(top)
    monkeypatch.setattr(project_files, "MOST_FILES", 4)
    assert not ProjectFiles(Settings(), top).are_as_in(before)
    before = state(top)
    assert ProjectFiles(Settings(), top).are_as_in(before)
    monkeypatch.setattr(project_files, "MOST_NAMES", 2)
    assert not ProjectFiles(Settings(), top).are_as_in(before)


def test_nothing_is_known_without_an_answer(top):
    assert not ProjectFiles(Settings(), top).are_as_in(ProjectFiles(Settings(), top).state([]))

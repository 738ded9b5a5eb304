"""Environments and the programs that run in them, without building any."""

import ast
import subprocess
from pathlib import Path

import pytest

from evaluation import environments
from evaluation.environments import ENVIRONMENTS, python_of
from evaluation.releases import IndexUnreachable
from evaluation.subjects import FAILURES, SUBJECTS, failure_of, path_of


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    return environments.cache_dir()


class Commands:
    """Replaces `subprocess.run`: venv creates an interpreter, pip exits with `pip`."""

    def __init__(self) -> None:
        self.pip = 0
        self.made: list[str] = []
        self.last: list[str] = []

    def __call__(self, command: list[str], **_) -> subprocess.CompletedProcess[str]:
        self.last = command
        if "venv" in command:
            self._make(Path(command[-1]))
        return subprocess.CompletedProcess(command, self.pip, "", "ERROR: no such host\nWARNING: an old pip")

    def _make(self, folder: Path) -> None:
        self.made.append(folder.name)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()
        environments._packages(folder).mkdir(parents=True)


@pytest.fixture
def commands(monkeypatch):
    stand_in = Commands()
    monkeypatch.setattr(environments.subprocess, "run", stand_in)
    return stand_in


def test_the_base_is_built_once_and_each_environment_once(cache, commands):
    first = python_of("0.13.0")
    assert python_of("0.13.0") == first == cache / "trl-0.13.0" / "bin" / "python"
    python_of("0.14.0")
    assert commands.made == ["base", "trl-0.13.0", "trl-0.14.0"]


def test_an_environment_has_the_base_on_its_path_and_pip_is_told_to_keep_torch(cache, commands):
    packages = environments._packages(python_of("0.13.0").parents[1])
    assert (packages / "base.pth").read_text().strip() == str(environments._packages(cache / "base"))
    assert {"torch==2.13.0", "trl==0.13.0", "transformers==4.47.1"} <= set(commands.last)


def test_one_that_is_not_whole_is_built_anew(cache, commands):
    folder = python_of("0.13.0").parents[1]
    (folder / environments.MARKER).unlink()
    python_of("0.13.0")
    assert commands.made == ["base", "trl-0.13.0", "trl-0.13.0"]


def test_one_with_other_pins_is_built_anew(cache, commands, monkeypatch):
    python_of("0.13.0")
    other = environments.Environment("0.13.0", {"transformers": "4.46.3"})
    monkeypatch.setitem(ENVIRONMENTS, "0.13.0", other)
    python_of("0.13.0")
    assert commands.made == ["base", "trl-0.13.0", "trl-0.13.0"]


def test_what_pip_can_not_fetch_is_said_in_one_line_and_leaves_nothing_whole(cache, commands):
    commands.pip = 1
    with pytest.raises(IndexUnreachable, match=r"^pip could not install torch==2\.13\.0.*: ERROR: no such host$"):
        python_of("0.13.0")
    assert not list(cache.glob(f"*/{environments.MARKER}"))


def test_an_unknown_release_is_refused(cache, commands):
    with pytest.raises(KeyError):
        python_of("0.1.0")
    with pytest.raises(SystemExit):
        environments.main(["0.1.0"])
    assert commands.made == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_subject_is_a_program_with_its_trainer(subject):
    tree = ast.parse(path_of(subject).read_text(encoding="utf-8"))
    assert SUBJECTS[subject] in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_all_programs_are_listed():
    folder = path_of("dpo").parent
    assert {path.stem for path in folder.glob("*.py")} == {*SUBJECTS, "shared", "scripted", "trackers", "__init__"}


def test_failures_are_of_subjects_and_releases_that_are_known():
    for failure in FAILURES:
        assert failure.subject in SUBJECTS
        assert failure.release in ENVIRONMENTS
        assert failure_of(failure.subject, failure.release, failure.processes) is failure
    assert failure_of("dpo", "0.13.0", 2) is None

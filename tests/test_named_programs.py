"""Which starts are those of a program, and what finding that out costs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from small_projects import written

from trl_lint.linter.execution.engines import ProjectEngines
from trl_lint.linter.execution.named_programs import StartsOfPrograms
from trl_lint.settings import Settings

CODE = ("train.py", "a/train.py", "a/src/train.py", "b/tool/__main__.py")


class Command(NamedTuple):
    program: str


@pytest.mark.parametrize(
    ("file", "command", "programs"),
    [
        ("run.sh", "train.py", ["train.py"]),  # the file that is there
        ("a/run.sh", "train.py", ["a/train.py"]),
        ("scripts/run.sh", "train.py", ["train.py"]),  # typed next to the program
        ("a/scripts/run.sh", "train.py", ["train.py", "a/train.py"]),
        ("a/scripts/run.sh", "../src/train.py", ["a/src/train.py"]),
        ("c/run.sh", "src/train.py", ["a/src/train.py"]),
        ("c/run.sh", "/train.py", ["train.py", "a/train.py", "a/src/train.py"]),  # below an unknown folder
        ("c/run.sh", "/home/me/a/src/train.py", ["a/src/train.py"]),
        ("a/run.sh", "scripts/a/src/train.py", ["a/src/train.py"]),  # published without the folder `scripts`
        ("a/run.sh", "scripts/train.py", []),
        ("c/run.sh", "other.py", []),
        ("c/run.sh", "", []),
        ("b/run.sh", "tool.py", ["b/tool/__main__.py"]),  # python -m tool
        ("c/scripts/run.sh", "tool.py", ["b/tool/__main__.py"]),  # wherever it is installed
    ],
)
def test_a_command_starts_the_programs_that_its_path_fits(file: str, command: str, programs: list[str]) -> None:
    starts = StartsOfPrograms([("x/other.sh", Command("none.py")), (file, Command(command))], CODE)
    assert [each for each in CODE if starts.of((each,))] == programs


def test_a_path_on_somebodys_disk_means_the_only_file_of_that_name() -> None:
    command = ("run.ipynb", Command("/content/project/train.py"))
    assert StartsOfPrograms([command], ("train.py", "a/other.py")).of(("train.py",)) == [command]
    assert StartsOfPrograms([command], ("train.py", "a/train.py")).of(("train.py",)) == []
    relative = ("run.ipynb", Command("project/train.py"))
    assert StartsOfPrograms([relative], ("train.py",)).of(("train.py",)) == []


def test_starts_keep_their_order_and_count_once() -> None:
    commands = [("z.sh", Command("a/train.py")), ("y.sh", Command("train.py")), ("x.sh", Command("/train.py"))]
    starts = StartsOfPrograms(commands, CODE)
    assert starts.of(("train.py", "a/train.py")) == starts.of(CODE) == commands
    assert starts.of(()) == []


def work(folder: Path, copies: int) -> int:
    """How many functions are called to say how each of the copies of a script is run, with a command for each."""
    files = {f"c{number}/train.py": "import torch\nif __name__ == '__main__':\n    pass\n" for number in range(copies)}
    files |= {f"c{number}/scripts/run.sh": "torchrun --nproc_per_node 2 train.py\n" for number in range(copies)}
    folder.mkdir()
    engines = ProjectEngines.of(Settings(root=written(folder, files)), (folder,))
    engines.engines_for(folder / "c0/train.py")  # the files are scanned
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        shown = [engines.engines_for(folder / f"c{number}/train.py") for number in range(copies)]
    finally:
        sys.setprofile(None)
    assert all(each.launched for each in shown)
    return calls


def test_copies_of_a_script_with_a_command_for_each_cost_their_square_at_most(tmp_path: Path) -> None:
    counts = [work(tmp_path / str(copies), copies) for copies in (32, 64)]
    assert counts[1] <= 4.4 * counts[0]

"""The findings in a file do not depend on whether the files that import it are linted as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_projects import found, written

from trl_lint.linter.files import callers as module
from trl_lint.linter.files.callers import CallerSearch
from trl_lint.linter.files.discovery import import_roots
from trl_lint.settings import Settings

HELPER = "import accelerate\n\n\ndef write(rows):\n    open('rows.txt', 'w').write(rows)\n"
PROGRAM = "from accelerate import Accelerator\nfrom {module} import write\n\naccelerator = Accelerator()\nwrite('x')\n"
GUARDED = PROGRAM.replace("write('x')\n", "if accelerator.is_main_process:\n    write('x')\n")


@pytest.mark.parametrize(
    ("program", "expected"), [(PROGRAM, [("lib/helper.py", 5, "TRL008")]), (GUARDED, [])], ids=["all", "main process"]
)
@pytest.mark.parametrize("names", [["lib/helper.py"], ["lib"], ["."]])
def test_a_file_means_the_same_alone_and_among_all(tmp_path: Path, program: str, expected, names: list[str]) -> None:
    files = {"lib/helper.py": HELPER, "scripts/run.py": program.format(module="lib.helper")}
    assert found(written(tmp_path, files), *names) == expected


def test_callers_are_not_reported(tmp_path: Path) -> None:
    wrong = PROGRAM.format(module="helper") + "open('more.txt', 'w').write('x')\n"
    folder = written(tmp_path, {"helper.py": HELPER, "run.py": wrong})
    assert found(folder, "helper.py") == [("helper.py", 5, "TRL008")]
    assert found(folder, ".") == [("helper.py", 5, "TRL008"), ("run.py", 6, "TRL008")]


def called_by(folder: Path, *names: str, **settings) -> list[str]:
    linted = {folder / name: (folder / name).read_bytes() for name in names}
    roots = import_roots(folder, linted)
    search = CallerSearch(Settings(root=folder, **settings), roots, linted)
    asked = search.callers(lambda content: b"accelerate" in content)
    return [path.relative_to(folder).as_posix() for path in asked]


FILES = {
    "lib/__init__.py": "from .helper import write\n",
    "lib/helper.py": HELPER,
    "lib/trainer.py": "import accelerate\nfrom . import helper\n",
    "train.py": "import accelerate\nfrom lib.trainer import x\n",
    "run.py": "import accelerate\nimport lib\n",
    "other/helper.py": "import accelerate\n",
    "uses_other.py": "import accelerate\nfrom other.helper import x\n",
    "tests/try_helper.py": "import accelerate\nfrom lib.helper import write\n",
    "says.py": "import accelerate\n# lib.helper\n",
    "no_library.py": "import lib.helper\n",
}


def test_callers_are_those_that_import_a_file_directly_or_through_others(tmp_path: Path) -> None:
    assert called_by(written(tmp_path, FILES), "lib/helper.py") == ["lib/trainer.py", "run.py", "train.py"]


def test_what_is_linted_is_no_caller(tmp_path: Path) -> None:
    assert called_by(written(tmp_path, FILES), "lib/helper.py", "lib/trainer.py") == ["train.py", "run.py"]


def test_what_the_settings_leave_out_is_no_caller(tmp_path: Path) -> None:
    assert called_by(written(tmp_path, FILES), "lib/helper.py", exclude=("train.py",)) == ["lib/trainer.py", "run.py"]


def test_what_cannot_be_read_is_no_caller(tmp_path: Path) -> None:
    folder = written(tmp_path, FILES)
    os.symlink(folder / "run.py", folder / "round.py")
    (folder / "run.py").unlink()
    (folder / "lib" / "trainer.py").write_bytes(b"import accelerate\nfrom . import helper\n\xff = 1\n")
    assert called_by(folder, "lib/helper.py") == ["lib/trainer.py", "train.py"]
    assert found(folder, "lib/helper.py") == []  # a file that can't be parsed contributes nothing


@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [
        ("MOST_FILES", 5, []),
        ("MOST_NAMES", 5, []),
        ("MOST_CALLERS", 1, ["lib/trainer.py"]),
        ("MOST_BYTES", len(FILES["lib/trainer.py"]), ["lib/trainer.py"]),
        ("MOST_STEPS", 1, ["lib/trainer.py"]),
    ],
)
def test_so_many_are_looked_at(tmp_path: Path, monkeypatch, limit: str, value: int, expected: list[str]) -> None:
    folder = written(tmp_path, FILES)
    monkeypatch.setattr(module, limit, value)
    assert called_by(folder, "lib/helper.py") == expected

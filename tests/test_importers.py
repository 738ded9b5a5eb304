"""Which programs may run a file, judged by the names of imports."""

import os
import subprocess
import sys

import pytest

from trl_lint.launch.judge.engines import Group
from trl_lint.linter.execution.importers import Importer, Importers, imported


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a", {"a"}),
        ("import a.b.c, d.e", {"a.b.c", "d.e"}),
        ("import a.b as c", {"a.b"}),
        ("import a as b, c.d as e", {"a", "c.d"}),
        ("import a and train it", {"a"}),
        ("from a.b import C, d as e", {"a.b", "a.b.C", "a.b.d"}),
        ("from . import trainer", {".trainer"}),
        ("from .trainer import *", {".trainer"}),
        ("from ..a import b", {"..a", "..a.b"}),
        ("from a.b import (\n    C,  # the first\n    d as e,\n)", {"a.b", "a.b.C", "a.b.d"}),
        ("    from a import b  # inside a function", {"a", "a.b"}),
        ("important = 1\nfrom_a = 2", set()),
        ("import_module(f'tasks.{name}')", {"tasks.*"}),
        ("name = 'lib.tasks.' + args.task + '_task'\n__import__(name)", {"lib.tasks.*"}),
        ("import_module('tasks.%s' % name)\nimport_module('tasks.{}'.format(name))", {"tasks.*"}),
        ("import_module(name)\nshow('done.')\nshow(f'{name}.{kind}')", set()),
        ("show(f'tasks.{name}')", set()),
    ],
)
def test_what_code_imports(code: str, names: set[str]):
    assert imported(code.encode()) == names


FILES = (
    Importer("train.py", ("trainer",), program=True),
    Importer("lib/trainer.py", ("losses",), program=False),
    Importer("lib/losses.py", ("trainer",), program=False),
    Importer("lib/__init__.py", ("models",), program=False),
    Importer("evaluate.py", ("lib",), program=True),
    Importer("alone.py", (), program=True),
    Importer("any.py", ("lib.tasks.*",), program=True),
    Importer("lib/tasks/first.py", (), program=False),
    Importer("tasks/first.py", (), program=False),
)


@pytest.mark.parametrize(
    ("path", "programs"),
    [
        ("lib/trainer.py", {"train.py"}),
        ("lib/losses.py", {"train.py"}),
        ("lib/models.py", {"evaluate.py"}),
        ("lib/tasks/first.py", {"any.py"}),
        ("tasks/first.py", set()),
        ("lib/unused.py", set()),
        ("alone.py", set()),
    ],
)
def test_programs_that_import_a_file(path: str, programs: set[str]):
    assert Importers(FILES).programs_of(path) == programs


def test_what_a_package_imports_is_not_what_the_programs_use_that_import_one_of_its_modules():
    files = (
        Importer("count.py", ("lib.rows",), program=True),
        Importer("lib/__init__.py", (".trainer",), program=False),
        Importer("lib/trainer.py", (), program=False),
        Importer("lib/rows.py", (), program=False),
    )
    assert Importers(files).programs_of("lib/rows.py") == {"count.py"}
    assert not Importers(files).programs_of("lib/trainer.py")


def test_modules_that_settings_name_may_lie_anywhere():
    files = [
        Importer("main.py", (), program=True, built=("data",)),
        *(Importer(each, (), program=False) for each in ("data.py", "first/data.py", "second/data.py")),
    ]
    assert Importers(files).programs_of("second/data.py") == {"main.py"}


ANSWER = """
import sys
from pathlib import Path
from trl_lint.linter.execution.engines import ProjectEngines
from trl_lint.settings import Settings
print(ProjectEngines.of(Settings(), (Path(sys.argv[1]),)).answer(sys.argv[1]))
"""


def test_another_process_gives_the_same_answer(tmp_path):
    """A cached result is valid in later processes, where sets have another order."""
    (tmp_path / "train.py").write_text("from lib import one, two, three, four, five, six\nimport seven, eight\n")
    said = set()
    for seed in ("1", "2", "3"):
        command = [sys.executable, "-c", ANSWER, str(tmp_path)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        said.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1


def test_a_program_that_asks_for_a_process_group_that_nothing_in_it_starts():
    files = [
        Importer("evaluate.py", ("comm",), program=True),
        Importer("train.py", ("comm", "begin"), program=True),
        Importer("alone.py", (), program=True),
        Importer("comm.py", (), program=False, group=Group.ASKS),
        Importer("begin.py", (), program=False, group=Group.STARTS),
    ]
    importers = Importers(files)
    assert [importers.has_no_group(each) for each in ("evaluate.py", "train.py", "alone.py")] == [True, False, False]

"""Launch files that are built to be expensive: reading costs no more than linear work, and what multiplies is given up.

Work is counted in executed lines of Python, or in stored objects; never in seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest
from cpu_time import spent

from trl_lint.launch import checker
from trl_lint.launch.commands import commands
from trl_lint.launch.parsers import makefile, notebooks, readers, shell_tree
from trl_lint.launch.rewrite import TextEdit, applied
from trl_lint.launch.training import trainers
from trl_lint.launch.training.launch_project import LaunchProject
from trl_lint.settings import Settings


def steps(call: Callable[[], object]) -> int:
    """How many lines of Python a call executes, in each iteration of a loop."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def read(name: str, text: str) -> readers.Reading:
    return readers.read(PurePath(name), text.encode())


LEVELS = ["r0: &r0 {gpus: 1}\n", *(f"r{i}: &r{i} [{', '.join([f'*r{i - 1}'] * 6)}]\n" for i in range(1, 8))]
# By what is repeated: the kind of file, and its text for a given size.
GROWING = {
    "blank lines in reStructuredText": ("a.rst", lambda n: "python\n" + "\n" * n * 10),
    "here-documents without an end": ("Dockerfile", lambda n: "FROM a\n" + "LABEL python <<A\n" * n),
    "aliases of aliases": (
        "a.yml",
        lambda n: "".join(LEVELS[: n // 50]) + f"resources: *r{n // 50 - 1}\nrun: python\n",
    ),
    "aliases of a script": (
        "a.yml",
        lambda n: "a:\n- run: &x |\n" + "    python a\n" * (n // 4) + "- run: *x\n" * (n // 4),
    ),
    "branches of Python": (
        "a.py",
        lambda n: "import subprocess\nsubprocess.run(['python', 'a'])\nif a: b()\n" + "elif c: d()\n" * (n // 2),
    ),
}


@pytest.mark.parametrize("case", GROWING)
def test_twice_the_text_is_twice_the_work(case):
    name, text = GROWING[case]
    read(name, "a: python\n")  # do late imports now
    few, many = (steps(lambda size=size: read(name, text(size))) for size in (150, 300))
    assert many < 3 * few


@pytest.mark.parametrize(
    ("name", "hostile", "harmless"),
    [
        ("Makefile", "export A = x{}x\na:\n\tpython a\n", "export A = x{}\na:\n\tpython a\n"),
        ("a.rst", "python\n{}x\n", "python\nx{}\n"),
        ("justfile", "a{}x\n  python a\n", "a: b{}\n  python a\n"),
        ("Snakefile", "shell{}x: 'python a'\n", "shell: 'python a'{}\n"),
        ("a.ipynb", '{{"cells": [{{"cell_type": "code", "source": ["%env A{}x y"]}}], "a": "python"}}', None),
        ("a.md", "```\npython\na@{}\n```\n", "```\npython\na {}\n```\n"),
    ],
)
def test_no_regular_expression_looks_back(name, hostile, harmless):
    """A long line costs no more than an easy one of the same length; both are measured here."""
    gap = ("a" if name == "a.md" else " ") * 20_000
    easy = (harmless or hostile).format(gap if harmless else "=" * 5)
    easy += "\n" * (len(hostile.format(gap)) - len(easy))
    few, many = spent(lambda: read(name, easy)), spent(lambda: read(name, hostile.format(gap)))
    assert many < 100 * few + spent(lambda: sum(range(1_000_000)))


# With a hundredth of the usual limit of steps.
MOST = 5_000
GIVEN_UP = {
    "exports": ("a.sh", "".join(f"export A{i}=1\npython a.py\n" for i in range(200)), "variables"),
    "lists": ("a.sh", "".join(f"A{i}=1\n" for i in range(500)) + "python||b\n" * 200, "variables"),
    "words of a variable": ("a.sh", f"A='{'x ' * 500}'\npython\n" + "$A\n" * 20, "words"),
    "words of one command": ("a.sh", f"A='{'x ' * 500}'\npython " + "$A " * 20, "words"),
    "words of an alias": ("a.sh", f"alias x='{'w ' * 500}'\npython\n" + "x\n" * 20, "words"),
    "options": ("a.sh", "#SBATCH -a\n" * 200 + "python a\n" * 50, "comments and options"),
    "functions": ("a.sh", "f() {\n" + "python a\n" * 50 + "}\n" + "f\n" * 50, "commands"),
    "folders": ("a.sh", f"cd {'a/' * 900}\n" + "cd b\npython\ncd ..\n" * 50, "folders"),
    "stages": ("Dockerfile", f"FROM x AS y\nENTRYPOINT python {'a ' * 500}\n" + "FROM y AS y\n" * 30, "words"),
    "stages in JSON": (
        "Dockerfile",
        f"FROM x AS y\nENTRYPOINT {json.dumps(['python', *'a' * 500])}\n" + "FROM y AS y\n" * 30,
        "words",
    ),
    "ENV": ("Dockerfile", "FROM x\n" + "".join(f"ENV A{i}=1\nRUN python a\n" for i in range(200)), "variables"),
    "exports of a Makefile": (
        "Makefile",
        "".join(f"export A{i} = x\n" for i in range(500)) + "a:\n" + "\tpython a\n" * 150,
        "variables",
    ),
    "expansion": ("Makefile", f"A = {'x' * 4_000}\na:\n\tpython {'$(A)' * 300}\n", "more than 1,000,000 characters"),
    "expansion of definitions": (
        "Makefile",
        f"Z = {'x' * 3_900}\nA = {'$(Z)' * 900}\n" + "".join(f"B{i} = $(A)$(Z)\n" for i in range(400)) + "a:\n"
        + "".join(f"\tpython $(B{i})\n" for i in range(400)),
        "more than 1,000,000 characters",
    ),
    "environments of aliases": (
        "a.yml",
        "e: &e\n" + "".join(f"  A{i}: 1\n" for i in range(200)) + "a:\n" + "- {run: python a.py, env: *e}\n" * 50,
        "variables",
    ),
    "words of aliases": ("a.yml", f"w: &w [{'python, ' * 200}a]\na:\n" + "- {command: *w}\n" * 50, "words"),
    "blocks": ("a.md", "".join(f"```bash\nexport A{i}=1\npython a.py\n```\n" for i in range(200)), "variables"),
    "cells": (
        "a.ipynb",
        json.dumps({"cells": [{"cell_type": "code", "source": [f"%env A{i}=1\n!python a"]} for i in range(200)]}),
        "variables",
    ),
    "one cell": (
        "a.ipynb",
        json.dumps({"cells": [{"cell_type": "code", "source": ["!python a.py\n"] * 30_000}]}),
        f"a cell has more than {shell_tree.LARGEST:,} characters",
    ),
    "lines of a cell": (
        "a.ipynb",
        json.dumps({"cells": [{"cell_type": "code", "source": ["python"] * 110_000}]}),
        "a cell has more than 100,000 lines",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GIVEN_UP)
def test_what_multiplies_is_given_up_and_said(case, monkeypatch):
    monkeypatch.setattr(commands, "MOST_STEPS", MOST, raising=False)
    name, text, reason = GIVEN_UP[case]
    found = read(name, text)
    assert reason in found.problem
    assert "\n" not in found.problem
    environments = {id(each.surroundings.environment): each.surroundings.environment for each in found.commands}
    assert sum(map(len, environments.values())) <= MOST
    assert sum(len(each.words) + len(each.surroundings.hints) for each in found.commands) <= MOST


def test_what_people_write_is_not_given_up():
    block = "".join(f"export A{i}=1\n" for i in range(20)) + "if a; then\n  python a.py --b c --d e\nfi\n"
    assert read("a.sh", block * 500).problem == ""
    assert read("a.md", f"# A\n\ntext\n\n```bash\n{block}```\n" * 300).problem == ""
    variables = "".join(f"A{i} = $(A{i // 2}) x\n" for i in range(1, 300))
    assert read("Makefile", f"{variables}a:\n" + "\tpython $(B) a\n" * 2_000).problem == ""
    assert read("a.yml", "".join(f"- env: {{A: {i}}}\n  run: python a.py\n" for i in range(500))).problem == ""


def test_commands_share_an_environment_that_has_not_changed():
    found = read("a.sh", "export A=1\n" + "python a.py\n" * 20).commands
    assert len({id(each.surroundings.environment) for each in found[1:]}) == 1
    started = read("Dockerfile", "FROM a\nENV A=1\n" + "RUN python a.py\n" * 20).commands
    assert len({id(each.surroundings.environment) for each in started}) == 1


def test_a_cell_that_starts_nothing_is_not_aligned(monkeypatch):
    aligned: list[str] = []
    before = notebooks.align

    def watched(file, start, end, value):
        aligned.append(value)
        return before(file, start, end, value)

    monkeypatch.setattr(notebooks, "align", watched)
    cells = [{"cell_type": "code", "source": ["x" * 100_000]}, {"cell_type": "code", "source": ["!python a.py"]}]
    assert len(read("a.ipynb", json.dumps({"cells": cells})).commands) == 1
    assert aligned == ["!python a.py"]


def test_places_are_kept_as_numbers():
    """One machine word for each character, not a Python object."""
    (command,) = (each for each in read("a.yml", "run: |\n  python a.py\n").commands)
    passage = makefile.Passage.whole("python a.py")
    joined = makefile._expanded(passage, makefile._Variables({}))
    assert (command.start, command.exact, joined.at.itemsize) == (9, True, 8)


def test_edits_are_applied_in_one_pass():
    text = "0123456789"
    assert applied(text, [TextEdit(8, 9, "y"), TextEdit(1, 3, ""), TextEdit(5, 5, "x")]) == "034x567y9"


def test_fixes_are_tried_one_by_one_up_to_a_limit(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("from transformers import Trainer\ntrainer = Trainer()\ntrainer.train()\n")
    text = "export CUDA_VISIBLE_DEVICES=0,1\n" + "python train.py\n" * (checker.MOST_TRIED + 20)
    project = LaunchProject.of(Settings(root=tmp_path), [tmp_path])
    found = checker.checked(tmp_path / "a.sh", text.encode(), project)
    tried: list[int] = []

    def refuses(path, before, project, wanted):
        tried.append(len(wanted))
        return b"", "no"

    monkeypatch.setattr(checker, "_try_fixes", refuses)
    new, withheld = checker.apply_fixes(tmp_path / "a.sh", text.encode(), project, found.launches)
    assert (new, len(withheld)) == (text.encode(), checker.MOST_TRIED + 20)
    assert len(tried) == 1 + checker.MOST_TRIED


def test_stars_of_stars_are_followed_once(tmp_path):
    """Files that all import each other: without a memory, 6 ** 6 paths lead to a name that does not exist."""
    names = [f"m{i}" for i in range(6)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("".join(f"from {each} import *\n" for each in names) + "missing()\n")
    asked = trainers.Trainers([tmp_path])
    assert steps(lambda: asked.training(tmp_path / "m0.py")) < 100_000


@pytest.mark.parametrize("start", ["{outside}", "../outside/train.py", "$ROOT/../outside/train.py", "$A{outside}"])
@pytest.mark.parametrize("line", ["python {start}", "cd {folder} && python train.py", "cd ../outside; python -m train"])
def test_what_lies_outside_of_the_project_is_not_read(tmp_path, start, line):
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project, outside):
        folder.mkdir()
    (outside / "train.py").write_text("from transformers import Trainer\ntrainer = Trainer()\ntrainer.train()\n")
    script = line.format(start=start.format(outside=outside / "train.py"), folder=outside)
    found = checker.checked(
        project / "a.sh",
        f"export CUDA_VISIBLE_DEVICES=0,1\n{script}\n".encode(),
        LaunchProject.of(Settings(root=project), [project]),
    )
    assert found.launches == ()


def test_a_relative_import_does_not_leave_the_project(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "base.py").write_text("from transformers import Trainer\n")
    (project / "train.py").write_text("from ..base import Trainer\ntrainer = Trainer()\ntrainer.train()\n")
    assert trainers.Trainers([project]).training(project / "train.py") is None
    assert trainers.Trainers([tmp_path]).training(project / "train.py") is not None


def test_a_script_above_its_launch_file_is_still_found(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "train.py").write_text("from transformers import Trainer\ntrainer = Trainer()\ntrainer.train()\n")
    text = b"export CUDA_VISIBLE_DEVICES=0,1\npython ../train.py\ncd ..\npython train.py\npython -m train\n"
    found = checker.checked(tmp_path / "scripts" / "a.sh", text, LaunchProject.of(Settings(root=tmp_path), [tmp_path]))
    assert [Path(each.script).name for each in found.launches] == ["train.py"] * 3


def test_conditions_of_python_from_the_outermost_in():
    text = "import subprocess\nif a:\n    if b:\n        c()\n    else:\n        subprocess.run(['python', 'a.py'])\n"
    (command,) = read("a.py", text).commands
    assert [each.value for each in command.surroundings.hints] == ["a", "b"]


def test_places_on_a_long_line_that_is_not_ascii():
    """The line is scanned once, not for each word in it."""
    text = "import subprocess; 'é'; " + "subprocess.run(['python', 'ü.py']); " * 50
    found = read("a.py", text).commands
    assert [text[each.words[1].start : each.words[1].end] for each in found] == ["'ü.py'"] * 50
    texts = ["import subprocess; 'é'; " + "subprocess.run(['python', 'ü.py']); " * n for n in (50, 100)]
    few, many = (steps(lambda text=text: read("a.py", text)) for text in texts)
    assert many < 3 * few


def test_a_directive_is_no_literal_block():
    text = "a\n\n   .. note::\n\n      python a.py\n\nb::\n\n   python b.py\n"
    assert [each.words[1].value for each in read("a.rst", text).commands] == ["b.py"]

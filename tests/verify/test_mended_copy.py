"""The fixed copy: the result of `--fix` for a program runs, and the user's files stay unchanged."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trl_lint.settings import Settings
from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import mending
from trl_lint.verify.rank.job import Job

BROKEN = "accelerator.gather_for_metrics(batch.sum().item())"
FIXED = "accelerator.gather_for_metrics(batch.sum()).sum().item()"
HELPER = f"""from accelerate import Accelerator

accelerator = Accelerator()


def total(batch):
    return {BROKEN}
"""
SETTINGS = Settings(target_trl="0.17.0", target_transformers="4.51.3")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mended(project, script="train.py", include=(), **settings):
    """The fixed files of a script, by name below the project."""
    files = mending.files_of(project / script, [project, (project / script).parent], include)
    found = mending.write_fixed_copy(files, replace(SETTINGS, root=project, **settings), project.parent / "copies")
    assert not found.problems
    return found, {os.path.relpath(path, project): Path(text).read_text() for path, text in found.sources.items()}


# For each layout: the files that have the bug, and those that are right.
LAYOUTS = {
    "the script itself": {"train.py": HELPER},
    "a package without __init__.py": {"train.py": "from parts.helper import total\n", "parts/helper.py": HELPER},
    "a sibling, beside a folder named as a library": {
        "train.py": "import wandb, helper\n",
        "wandb/run.txt": "",
        "helper.py": HELPER,
    },
    "a sibling": {"train.py": "import helper\n", "helper.py": HELPER},
    "a sibling of a sibling": {"train.py": "import a\n", "a.py": "from b import total\n", "b.py": HELPER},
    "a package": {"train.py": "from lib.dist import total\n", "lib/__init__.py": "", "lib/dist.py": HELPER},
    "a relative import": {
        "train.py": "import lib\n",
        "lib/__init__.py": "from .dist import total\n",
        "lib/dist.py": HELPER,
    },
    "an import in a function": {"train.py": "def main():\n    import helper\n", "helper.py": HELPER},
}


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_all_files_of_a_program_are_mended(project, files):
    write(project, files)
    before = contents(project)
    found, copies = mended(project)
    assert copies == {name: text.replace(BROKEN, FIXED) for name, text in files.items() if text == HELPER}
    assert [finding.code for finding in found.applied] == ["TRL001"]
    assert contents(project) == before
    copied = [path for path in (project.parent / "copies").rglob("*") if path.is_file()]
    assert sorted(map(str, copied)) == sorted(found.sources.values())


def test_a_script_in_a_folder_finds_its_siblings(project):
    write(project, {"scripts/train.py": "import helper\n", "scripts/helper.py": HELPER})
    assert [*mended(project, "scripts/train.py")[1]] == ["scripts/helper.py"]


def test_what_is_not_imported_is_mended_when_it_is_named(project):
    write(project, {"train.py": "", "plugins/a.py": HELPER})
    assert not mended(project)[1]
    assert [*mended(project, include=[project / "plugins"])[1]] == ["plugins/a.py"]


def test_what_cannot_be_parsed_is_said(project):
    write(project, {"train.py": HELPER + "def\n"})
    files = mending.files_of(project / "train.py", [project])
    found = mending.write_fixed_copy(files, SETTINGS, project.parent / "copies")
    assert len(found.problems) == 1
    assert f"train.py:{len(HELPER.splitlines()) + 1}:" in found.problems[0]


def test_a_copy_is_mended_further(project):
    write(project, {"train.py": HELPER})
    _, copies = mended(project)
    halfway = project.parent / "halfway.py"
    halfway.write_text(copies["train.py"] + f"\n\ndef again(batch):\n    return {BROKEN}\n")
    script = str(project / "train.py")
    again = mending.write_fixed_copy([project / "train.py"], SETTINGS, project.parent / "more", {script: str(halfway)})
    text = Path(again.sources[script]).read_text()
    assert text == halfway.read_text().replace(BROKEN, FIXED)


@pytest.mark.parametrize("is_module", [False, True])
def test_the_copies_run_at_the_places_of_the_originals(project, is_module, monkeypatch):
    """Without the libraries: the fixed text is read from the copies, not executed."""
    monkeypatch.chdir(project)
    show = "import json\nimport helper\nfrom lib import dist\nprint(json.dumps([__file__, helper.name, dist.name]))\n"
    name = "name = __file__, 'original'\n"
    write(project, {"train.py": "print('original')\n", "helper.py": name, "lib/__init__.py": "", "lib/dist.py": name})
    before = contents(project)
    copies = project.parent / "copies"
    write(copies, {"train.py": show, "helper.py": name.replace("original", "copy"), "lib/dist.py": "name = 'copy'\n"})
    job = Job(
        "train" if is_module else str(project / "train.py"),
        (),
        str(project.parent / "traces"),
        str(project),
        is_module=is_module,
        sources={str(project / name): str(copies / name) for name in ("train.py", "helper.py", "lib/dist.py")},
    )
    environment = (("PYTHONDONTWRITEBYTECODE", "1"),)
    (rank,) = launcher.run(Launch(sys.executable, environment=environment), job, plain=True).ranks
    assert rank.ended_well, rank.output
    script, helper = str(project / "train.py"), str(project / "helper.py")
    assert eval(rank.output) == [script, [helper, "copy"], "copy"]
    assert contents(project) == before


def test_a_traceback_quotes_the_copy(project):
    write(project, {"train.py": "print('original')\n"})
    copy = project.parent / "copy.py"
    copy.write_text("\n\nraise ValueError('copy')\n")
    script = str(project / "train.py")
    job = Job(script, (), str(project.parent / "traces"), str(project), sources={script: str(copy)})
    (rank,) = launcher.run(Launch(sys.executable), job, plain=True).ranks
    assert [str(place) for place in rank.end.at] == ["train.py:3 (<module>)"]
    assert "    raise ValueError('copy')\n" in rank.output

"""The recipes for continuous integration: the commands of each file, run as on the CI system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from xml.etree import ElementTree

import pytest
from once import once
from ruamel.yaml import YAML
from samples import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "ci"
RIGHT = "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
BROKEN = RIGHT + "total = accelerator.gather(loss.item())\n"


def document(path: Path):
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def git(folder: Path, *args: str) -> str:
    author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    done = subprocess.run(["git", *author, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def branch(tmp_path: Path) -> tuple[Path, str]:
    """A branch that breaks a right file, deletes one of two broken ones, and adds a right one; and its base."""
    folder = tmp_path / "checkout"
    (folder / "src").mkdir(parents=True)
    (folder / "scripts").mkdir()
    git(folder, "init", "-q")
    for name, text in {"old.py": BROKEN, "gone.py": BROKEN, "train it.py": RIGHT}.items():
        (folder / "src" / name).write_text(text)
    (folder / "scripts" / "run.py").write_text(RIGHT)
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "Base")
    base = git(folder, "rev-parse", "HEAD")
    (folder / "src" / "gone.py").unlink()
    (folder / "src" / "train it.py").write_text(BROKEN)
    (folder / "src" / "new.py").write_text(RIGHT)
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "Branch")
    return folder, base


def run(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a CI system does: bash that stops at the first failure."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def step(name: str) -> dict:
    steps = document(ROOT / "action.yml")["runs"]["steps"]
    return next(each for each in steps if each.get("name") == name)


def act(folder: Path, base: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The steps of the action that find the files and lint them, with the values that GitHub would insert."""
    defaults = {name: each["default"] for name, each in document(ROOT / "action.yml")["inputs"].items()}
    values = {f"inputs.{name}": value for name, value in (defaults | inputs).items()}
    values |= {"github.event.pull_request.base.sha": base, "runner.temp": str(folder.parent)}

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace("${{ " + name + " }}", value)
        assert "${{" not in text
        return text

    for name in ("Find what is to be linted", "Lint"):
        found = step(name)
        assert found["shell"] == "bash"
        assert "${{" not in found["run"]  # text that others may have written is never part of a script
        done = run(folder, found["run"], **{key: filled(value) for key, value in found["env"].items()})
        if done.returncode:
            break
    return done


def test_the_action_reports_what_a_pull_request_changes(branch: tuple[Path, str]) -> None:
    done = act(*branch)
    assert done.returncode == 1, done.stderr
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("::")]
    assert "src/train it.py" in line
    assert "TRL001" in line


def test_the_action_reports_everything_where_that_is_asked_for_or_there_is_no_base(branch: tuple[Path, str]) -> None:
    folder, base = branch
    for done in (act(folder, base, **{"changed-only": "false"}), act(folder, "")):
        assert done.returncode == 1
        assert sum(each.startswith("::") for each in done.stdout.splitlines()) == 2


def test_the_action_writes_sarif_and_takes_options(branch: tuple[Path, str]) -> None:
    folder, base = branch
    done = act(folder, base, sarif="true", paths="src scripts", args="--select TRL002")
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((folder.parent / "trl-lint.sarif").read_text())
    assert written["runs"][0]["results"] == []
    done = act(folder, base, sarif="true", paths="src")
    assert done.returncode == 1
    written = json.loads((folder.parent / "trl-lint.sarif").read_text())
    assert [each["ruleId"] for each in written["runs"][0]["results"]] == ["TRL001"]


def test_the_action_has_nothing_to_do_where_nothing_of_it_was_changed(branch: tuple[Path, str]) -> None:
    done = act(*branch, paths="scripts")
    assert done.returncode == 0
    assert "No file was changed" in done.stdout


@pytest.mark.slow
@pytest.mark.index
def test_the_action_installs_the_tool(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In every run pre-commit installs it in the same way, with pip from a folder (`test_precommit.py`)."""

    def install(folder: Path) -> Path:
        venv.create(folder / "venv", with_pip=True)
        found = step("Install trl-lint")
        path = os.pathsep.join([str(folder / "venv" / "bin"), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-e", "-c", found["run"]],
            env={**os.environ, "PATH": path, "SOURCE": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if "Could not find a version" in done.stderr:
            pytest.skip("the package index can't be reached, and the action installs from it")
        assert done.returncode == 0, done.stderr
        return folder / "venv"

    installed = once(tmp_path_factory, "action", install)
    done = subprocess.run([installed / "bin" / "trl-lint", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("trl-lint ")


def test_the_inputs_of_the_action_are_documented() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    for name in document(ROOT / "action.yml")["inputs"]:
        assert f"| `{name}` |" in page
    used = document(EXAMPLES / "github.yml")["jobs"]["trl-lint"]["steps"][-1]["with"]
    assert used.keys() <= document(ROOT / "action.yml")["inputs"].keys()


def test_the_recipe_for_gitlab_fails_by_findings_and_leaves_its_report(branch: tuple[Path, str]) -> None:
    folder, _ = branch
    job = document(EXAMPLES / "gitlab-ci.yml")["trl-lint"]
    install, *script = job["script"]
    assert install.startswith("pip install")
    done = run(folder, "\n".join(script))
    assert done.returncode == 1
    report = json.loads((folder / job["artifacts"]["reports"]["codequality"]).read_text())
    assert sorted(each["location"]["path"] for each in report) == ["src/old.py", "src/train it.py"]
    assert done.stdout.count("TRL001") == 2


def test_the_generic_recipe_lints_what_a_branch_has_changed(branch: tuple[Path, str]) -> None:
    folder, base = branch
    done = run(folder, f'bash "{EXAMPLES / "changed.sh"}" {base}')
    assert done.returncode == 1
    assert done.stdout.count("TRL001") == 1
    assert run(folder, f'bash "{EXAMPLES / "changed.sh"}" HEAD').returncode == 0


def test_what_other_systems_read(branch: tuple[Path, str]) -> None:
    folder, _ = branch
    done = run(folder, "trl-lint --output-format junit --output-file trl-lint.xml src")
    assert done.returncode == 1
    assert len(list(ElementTree.parse(folder / "trl-lint.xml").iter("failure"))) == 2

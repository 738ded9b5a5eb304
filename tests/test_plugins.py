"""What another package adds by its entry point: the example of the documentation, installed and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forks
import pytest
from once import once
from wheels import built

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "plugin"
SETTINGS = '[tool.trl-lint]\nplugins = ["our-rules"]\n'
CODE = """from accelerate import Accelerator
from accelerate.utils import broadcast
from ourlib.dist import agree


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        first = broadcast(loss, from_process=1)
        if accelerator.is_main_process:
            stop = agree(loss > 3)
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed example."""

    def install(folder: Path) -> Path:
        wheel = built(folder / "tree", EXAMPLE, ("pyproject.toml", "our_rules"))
        shutil.unpack_archive(wheel, folder / "site", "zip")
        return folder / "site"

    return once(tmp_path_factory, "plugin", install)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "train.py").write_text(CODE)
    return tmp_path


def run(project: Path, site: Path | None, *args: str, module: str = "trl_lint") -> subprocess.CompletedProcess[str]:
    return forks.module(module, *args, folder=project, environment=environment_of(site))


def run_alone(project: Path, site: Path, *args: str, module: str = "trl_lint") -> subprocess.CompletedProcess[str]:
    """In a process of its own, as users do."""
    command = [sys.executable, "-m", module, *args]
    return subprocess.run(command, cwd=project, env=environment_of(site), capture_output=True, text=True, check=False)


def environment_of(site: Path | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(site or ""), "TRL_LINT_NO_CACHE": "1"}


def codes(done: subprocess.CompletedProcess[str]) -> list[tuple[str, int]]:
    assert not done.stderr, done.stderr
    return [(each["code"], each["location"]["row"]) for each in json.loads(done.stdout)]


def test_its_rule_and_its_rows_are_used_where_the_project_says_so(installed: Path, project: Path) -> None:
    for start in (run_alone, run):
        assert codes(start(project, installed, "--output-format", "json", ".")) == [("TRL801", 12), ("TRL006", 14)]
    (project / "pyproject.toml").write_text("[tool.trl-lint]\n")
    assert codes(run(project, installed, "--output-format", "json", ".")) == []


def test_its_rule_is_selected_silenced_and_explained_by_its_name(installed: Path, project: Path) -> None:
    assert codes(run(project, installed, "--select", "odd-root", "--output-format", "json", ".")) == [("TRL801", 12)]
    code = CODE.replace("from_process=1)", "from_process=1)  # noqa: odd-root")
    (project / "train.py").write_text(code)
    assert codes(run(project, installed, "--select", "odd-root", "--output-format", "json", ".")) == []
    assert "with us the first rank has what counts" in run(project, installed, "rule", "odd-root").stdout
    assert "TRL801" in run(project, installed, "rules").stdout


def test_its_fix_is_made(installed: Path, project: Path) -> None:
    done = run(project, installed, "--fix", "--select", "TRL801", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "train.py").read_text() == CODE.replace(", from_process=1", "")


def test_flake8_has_it_too(installed: Path, project: Path) -> None:
    done = run_alone(project, installed, "--select", "TRL", "train.py", module="flake8")
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["TRL801", "TRL006"], done.stdout + done.stderr


def test_its_output_format_is_used(installed: Path, project: Path) -> None:
    done = run(project, installed, "--select", "TRL801", "--output-format", "our-rules:table", ".")
    assert done.stdout.splitlines() == ["TRL801,train.py:12:17,wrong-number"]
    for name, said in (
        ("our-rules:other", "the plugin has no such format"),
        ("others:table", "`others` is not among the `plugins` of the settings"),
    ):
        done = run(project, installed, "--output-format", name, ".")
        assert (done.returncode, said in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)


def test_flake8_may_ask_for_it_alone(installed: Path, project: Path) -> None:
    done = run(project, installed, "--select", "TRL801", "train.py", module="flake8")
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["TRL801"], done.stdout + done.stderr


def test_sarif_describes_its_rule(installed: Path, project: Path) -> None:
    document = json.loads(run(project, installed, "--select", "TRL801", "--output-format", "sarif", ".").stdout)
    (rule,) = document["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "A value is broadcast from another rank than the first"


def test_results_are_not_kept_over_a_change_of_the_plugin(installed: Path, project: Path, tmp_path: Path) -> None:
    own = tmp_path / "site"
    shutil.copytree(installed, own)
    environment = {**os.environ, "PYTHONPATH": str(own)}
    command = [sys.executable, "-m", "trl_lint", "--select", "TRL801", "--output-format", "json", "train.py"]

    def lint() -> list[tuple[str, int]]:
        return codes(subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False))

    assert lint() == lint() == [("TRL801", 12)]
    rule = own / "our_rules" / "rules" / "odd_root.py"
    rule.write_text(rule.read_text().replace("len(event.node.args) > 1", "len(event.node.args) > 2"))
    assert lint() == []


def test_what_can_not_be_used_is_said_in_one_line(installed: Path, project: Path) -> None:
    for site, said in (
        (None, "plugins: `our-rules` is not installed"),
        (broken(installed, project / "a", "raise RuntimeError('no')"), "can't be imported: RuntimeError: no"),
        (broken(installed, project / "b", "x = 1"), "`our_rules.rules.odd_root` does not define one rule"),
    ):
        done = run(project, site, "train.py")
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def broken(installed: Path, folder: Path, text: str) -> Path:
    shutil.copytree(installed, folder)
    (folder / "our_rules" / "rules" / "odd_root.py").write_text(text)
    return folder

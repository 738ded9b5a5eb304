"""What a user gets: the wheel, and the script that runs all tests of a clean clone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "trl_lint", "codemods", "fixtures")
# Folders of the repository that the wheel has inside the package.
INSIDE = ("codemods", "fixtures")
UNREACHABLE = re.compile(
    r"Could not find a version that satisfies the requirement|ConnectionError|NewConnection"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> ZipFile:
    """The wheel of a copy of the tree, as building leaves files behind."""
    tree = tmp_path_factory.mktemp("tree")
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.is_file():
            shutil.copy(source, tree / name)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", "dist", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode and UNREACHABLE.search(said):
        pytest.skip("the package index can't be reached, and building the wheel needs setuptools from it")
    assert done.returncode == 0, said
    (built,) = (tree / "dist").glob("*.whl")
    return ZipFile(built)


@pytest.mark.index
def test_the_wheel_has_one_top_level_name(wheel):
    names = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"trl_lint"}


@pytest.mark.index
def test_the_wheel_has_every_module(wheel):
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "trl_lint").rglob("*.py")}
    ours |= {f"trl_lint/{path.relative_to(ROOT).as_posix()}" for name in INSIDE for path in (ROOT / name).rglob("*.py")}
    packed = {name for name in wheel.namelist() if name.endswith(".py")}
    assert packed == ours
    assert all(any(path.startswith(f"trl_lint/{name}/") for path in packed) for name in INSIDE)


@pytest.mark.index
def test_the_wheel_has_the_command(wheel):
    (entry_points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "trl-lint = trl_lint.cli:main" in wheel.read(entry_points).decode()


def test_the_test_script_says_what_is_missing(tmp_path):
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    done = subprocess.run(["bash", script], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("constraints.txt is missing")


def test_the_test_script_is_what_the_readme_says():
    """The script runs exactly the commands that users read."""
    commands = [
        line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith(("pip", "python"))
    ]
    assert [command.replace("'", '"') for command in commands] == [
        'pip install -c constraints.txt -e ".[dev]"',
        "python -m pytest -q -n 2",
    ]
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README yet")
    text = readme.read_text(encoding="utf-8").replace("'", '"')
    assert [command for command in commands if command.replace("'", '"') not in text] == []

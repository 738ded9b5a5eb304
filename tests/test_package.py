"""What users get: the wheel, and the script that runs all tests of a clean clone."""

from __future__ import annotations

import shutil
import subprocess
from email import message_from_bytes
from zipfile import ZipFile

import pytest
from wheels import ROOT, wheel_of

from trl_lint import __version__

# Folders of the repository that are inside the package in the wheel.
INSIDE = ("codemods", "fixtures")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> ZipFile:
    return ZipFile(wheel_of(tmp_path_factory))


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
    assert "trl-lint = trl_lint.__main__:main" in wheel.read(entry_points).decode()


@pytest.mark.index
def test_the_wheel_says_that_it_has_types(wheel):
    assert "trl_lint/py.typed" in wheel.namelist()


@pytest.mark.index
def test_the_wheel_has_the_license_that_it_names(wheel):
    (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
    text = wheel.read(path).decode()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    described = message_from_bytes(wheel.read(metadata))
    assert described["License-Expression"] == "Apache-2.0"
    assert {"Typing :: Typed", "Framework :: Flake8"} <= set(described.get_all("Classifier"))


def test_the_changelog_knows_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, found, unreleased = text.partition("\n## [Unreleased]\n")
    assert found
    assert f"## [{__version__}]" in text or __version__ in unreleased


def test_the_test_script_says_what_is_missing(tmp_path):
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    done = subprocess.run(["bash", script], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("constraints.txt is missing")


def test_the_test_script_is_what_the_readme_says():
    """The script runs exactly the commands that are documented."""
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith(("pip", "python"))]
    assert [command.replace("'", '"') for command in commands] == [
        'pip install -c constraints.txt -e ".[dev]"',
        "python -m pytest -q -n 3",
    ]
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README yet")
    text = readme.read_text(encoding="utf-8").replace("'", '"')
    assert [command for command in commands if command.replace("'", '"') not in text] == []

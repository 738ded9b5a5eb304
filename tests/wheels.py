"""The wheel of this repository, as users install it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from once import once

ROOT = Path(__file__).parents[1]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "trl_lint", "codemods", "fixtures")
# The version of setuptools that pyproject.toml requires.
LEAST_SETUPTOOLS = 77
UNREACHABLE = re.compile(r"Could not find a version that satisfies the requirement|ConnectionError|NewConnection")


def wheel_of(factory: pytest.TempPathFactory) -> Path:
    """The wheel, which is built once."""
    return once(factory, "wheel", lambda folder: built(folder / "tree"))


def built(tree: Path, root: Path = ROOT, needed: Iterable[str] = NEEDED) -> Path:
    """The wheel of a copy of the tree in an empty folder, because building leaves files behind."""
    tree.mkdir(exist_ok=True, parents=True)
    for name in needed:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.is_file():
            shutil.copy(source, tree / name)
    here = ["--no-isolation"] if _has_setuptools() else []
    command = [sys.executable, "-m", "build", "--wheel", *here, "--outdir", "dist", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode and UNREACHABLE.search(said):
        pytest.skip("the package index can't be reached, and building the wheel needs setuptools from it")
    assert done.returncode == 0, said
    (wheel,) = (tree / "dist").glob("*.whl")
    return wheel


def _has_setuptools() -> bool:
    try:
        return int(version("setuptools").partition(".")[0]) >= LEAST_SETUPTOOLS
    except PackageNotFoundError:
        return False

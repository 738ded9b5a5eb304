"""The VS Code extension: built and packaged as for publishing, and its language client against the real server.

Building it takes most of the time, and it is slow; the server that it starts is tested in every run (`test_server.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed")
EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
NPM = shutil.which("npm")
pytestmark = [
    pytest.mark.index,
    pytest.mark.skipif(NPM is None or shutil.which("node") is None, reason="node and npm are not installed"),
]


def npm(folder, *arguments, **environment):
    return subprocess.run(
        [NPM, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """A copy of the extension with its build tools."""
    folder = tmp_path_factory.mktemp("vscode") / "extension"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    installed = npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    if installed.returncode:
        said = installed.stderr.strip().splitlines() or ["npm said nothing"]
        if any(word in installed.stderr for word in ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "network")):
            pytest.skip(f"the registry of npm can't be reached: {said[0]}")
        pytest.fail(installed.stderr)
    return folder


@pytest.mark.slow
def test_it_is_packaged_and_its_client_speaks_to_the_server(extension):
    packaged = npm(extension, "run", "package")
    assert packaged.returncode == 0, packaged.stdout + packaged.stderr
    with zipfile.ZipFile(extension / "dist" / "trl-lint.vsix") as package:
        assert {"extension/package.json", "extension/dist/extension.js", "extension/readme.md"} < set(
            package.namelist()
        )
        assert not any("node_modules" in name or "/src/" in name for name in package.namelist())
    server = extension / "trl-lint"
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trl_lint "$@"\n', encoding="utf-8")
    server.chmod(0o755)
    tested = npm(extension, "test", TRL_LINT=str(server))
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "# fail 0" in tested.stdout and "# skipped 0" in tested.stdout


def test_what_is_locked_names_no_registry():
    locked = (EXTENSION / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in locked and '"integrity"' in locked

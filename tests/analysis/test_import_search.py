"""Which file of a project an import means."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.program.project.import_search import ImportSearch

FILES = (
    "programs/run/main.py",
    "programs/run/utils.py",
    "programs/run/wandb.py",
    "programs/run/strategy/deepspeed.py",
    "programs/package/__init__.py",
    "programs/package/inner/__init__.py",
    "programs/package/inner/parts.py",
    "programs/package/shared.py",
    "tools.py",
    "programs/run/tools.py",
)


@pytest.mark.parametrize(
    ("importer", "dotted", "found"),
    [
        ("programs/run/main.py", "utils", "programs/run/utils.py"),
        ("programs/run/main.py", "strategy.deepspeed", "programs/run/strategy/deepspeed.py"),
        # A program may be in the folder above; but the same must be found from wherever the file is linted.
        ("programs/run/strategy/deepspeed.py", "utils", None),
        ("programs/run/strategy/deepspeed.py", "tools", "programs/run/tools.py"),
        # The library is meant: a folder above may have a file of its name.
        ("programs/run/strategy/deepspeed.py", "wandb", None),
        # A file of a package names its modules by the package.
        ("programs/package/inner/parts.py", "shared", None),
        ("programs/package/inner/parts.py", "package.shared", "programs/package/shared.py"),
        ("programs/package/inner/parts.py", "tools", "tools.py"),
        ("tools.py", "utils", None),
    ],
)
def test_the_file_that_is_meant(tmp_path: Path, importer: str, dotted: str, found: str | None):
    for each in FILES:
        path = tmp_path / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    search = ImportSearch((tmp_path,))
    assert search.find_from(dotted, tmp_path / importer) == (found and tmp_path / found)

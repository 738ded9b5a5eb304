"""Helpers for tests that lint a few files as a project."""

from __future__ import annotations

from pathlib import Path

from trl_lint import api
from trl_lint.settings import Settings

# The folder of a project that does not exist: texts that are linted there have no files around them.
NOWHERE = Path("nowhere")


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write these files into the folder, as a project; return the folder."""
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def found(folder: Path, *names: str) -> list[tuple[str, int, str]]:
    """The default findings in these files or folders of a project; without names, in all of it."""
    findings = api.check([folder / name for name in names or ["."]], Settings(root=folder, preview=True))
    return [(Path(each.path).relative_to(folder).as_posix(), each.start.line, each.code) for each in findings]

"""What tests share that lint a few files as a project."""

from __future__ import annotations

from pathlib import Path

from trl_lint import api
from trl_lint.settings import Settings

# A folder of a project that nobody has made: texts that are linted there have nothing around them.
NOWHERE = Path("nowhere")


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder, a project with these files in it."""
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def found(folder: Path, *names: str) -> list[tuple[str, int, str]]:
    """What is found, by default, where these files or folders of a project are linted: all of it, without any."""
    findings = api.check([folder / name for name in names or ["."]], Settings(root=folder, preview=True))
    return [(Path(each.path).relative_to(folder).as_posix(), each.start.line, each.code) for each in findings]

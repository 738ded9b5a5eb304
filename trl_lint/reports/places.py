"""Where findings are, for services that know the repository and not this machine."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from trl_lint import plain
from trl_lint.findings import Position
from trl_lint.linter.runner import FileResult

# The variables in which GitHub and GitLab put the folder that they have checked out.
CHECKED_OUT = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def base_of(root: Path | None) -> str:
    """The folder that paths are relative to: the CI service's repository, else the project, else the current folder.

    root: the folder of the project, if there is one.
    """
    current = os.getcwd()
    folders = (os.path.abspath(named) for name in CHECKED_OUT if (named := os.environ.get(name)))
    around = (folder for folder in folders if is_below(current, folder))
    return next(around, os.path.abspath(root) if root else current)


def relative(path: str | os.PathLike[str], base: str) -> str:
    """A path relative to the base, with `/` on every system; an absolute path if it is outside."""
    return plain.line(_path_from(path, base).replace(os.sep, "/"))


def uri(path: str | os.PathLike[str], base: str) -> str:
    """A path relative to the base as a relative reference; a full URI if it is outside."""
    path_from_base = _path_from(path, base)
    if os.path.isabs(path_from_base):
        return Path(path_from_base).as_uri()
    return quote(os.fsencode(path_from_base.replace(os.sep, "/")))


def _path_from(path: str | os.PathLike[str], base: str) -> str:
    absolute = os.path.abspath(path)
    return os.path.relpath(absolute, base) if is_below(absolute, base) else absolute


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or inside it."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def in_file(result: FileResult) -> FileResult:
    """A result with its places in the file: in a notebook, lines of the JSON, without edits.

    Services know the file and not its cells.
    """
    if not any(each.start.cell for each in result.findings):
        return result
    from trl_lint.launch.parsers.notebook_places import CellPlaces
    from trl_lint.linter.cells.places import moved

    cells = CellPlaces(result.source.decode("utf-8", "replace"))

    def move(path: str, place: Position) -> tuple[str, Position]:
        is_here = place.cell and os.path.abspath(path) == str(result.path)
        return path, cells.in_file(place) if is_here else place

    return result._replace(findings=tuple(moved(each, move, lambda finding: ()) for each in result.findings))

"""Where findings are, in the words of services that know a repository and not this machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from trl_lint import plain
from trl_lint.findings import Position
from trl_lint.linter.runner import FileResult

# What GitHub and GitLab call the folder that they have checked out.
CHECKED_OUT = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def base_of(root: Path | None) -> str:
    """The folder that paths are told from: the repository that a service works in, else the project, else this one.

    root: the folder of the project, if there is one.
    """
    here = os.getcwd()
    folders = (os.path.abspath(named) for name in CHECKED_OUT if (named := os.environ.get(name)))
    around = (folder for folder in folders if is_below(here, folder))
    return next(around, os.path.abspath(root) if root else here)


def relative(path: str | os.PathLike[str], base: str) -> str:
    """A path below the base, with `/` on every system; any other one is absolute."""
    return plain.line(_told_from(path, base).replace(os.sep, "/"))


def uri(path: str | os.PathLike[str], base: str) -> str:
    """A path below the base as a relative reference; any other one as a URI of its own."""
    told = _told_from(path, base)
    if os.path.isabs(told):
        return Path(told).as_uri()
    return quote(os.fsencode(told.replace(os.sep, "/")))


def _told_from(path: str | os.PathLike[str], base: str) -> str:
    absolute = os.path.abspath(path)
    return os.path.relpath(absolute, base) if is_below(absolute, base) else absolute


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is that of a folder or of something in it."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def in_file(result: FileResult) -> FileResult:
    """A result with its places in the file: of a notebook, in the lines of its JSON, where no edits are told.

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

    return replace(result, findings=tuple(moved(each, move, lambda finding: ()) for each in result.findings))

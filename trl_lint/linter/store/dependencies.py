"""What an analysis read on the machine apart from the given files, and whether that is still the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trl_lint import files
from trl_lint.linter.store.cache import digest
from trl_lint.releases import are_still_installed

if TYPE_CHECKING:
    from trl_lint.linter.execution.project_files import ProjectState

FILE, NOTHING, OTHER = "file", "nothing", "other"


class Dependencies(NamedTuple):
    """What an analysis depends on.

    contents: the digest of every file that was opened, None for one that could not be read. kinds: what is at other
    paths (a file, nothing, or something else). small: whether a file has no more than `limit` bytes. releases: which
    releases are installed, "" for none. engines: a digest of how the files asked about are run. callers: the files that
    were analysed because they import those of the run, or inherit from them.

    The last two take long to find out. If what they were found out from is the same, they are, too. engines_from: the
    state of the project's files (see `execution/project_files.py`). importers: the callers that import files of the
    run. importers_from: a digest of the files that were searched for them.
    """

    contents: Mapping[str, str | None]
    kinds: Mapping[str, str]
    small: Mapping[str, bool]
    limit: int
    releases: Mapping[str, str]
    engines: Mapping[str, str]
    callers: Sequence[str]
    engines_from: ProjectState | None = None
    importers: Sequence[str] = ()
    importers_from: str = ""

    def hold(self, engines_of: Callable[[str], str], callers: Callable[[], Sequence[str]]) -> bool:
        """Whether an analysis would find the same today.

        engines_of: how a file is run now. callers: the files that import those of the run now.
        """
        return (
            all(kind_of(path) == kind for path, kind in self.kinds.items())
            and all(is_small(path, self.limit) == small for path, small in self.small.items())
            and all(content_of(path) == content for path, content in self.contents.items())
            and are_still_installed(self.releases)
            and all(engines_of(path) == answer for path, answer in self.engines.items())
            and callers() == self.callers
        )


def content_of(path: str) -> str | None:
    """The digest of a file's content."""
    try:
        return digest(files.read(path))
    except (OSError, ValueError):
        return None


def kind_of(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return NOTHING
    return FILE if stat.S_ISREG(mode) else OTHER


def is_small(path: str, limit: int) -> bool:
    """Whether a file has no more bytes than the limit; a missing file has none."""
    return files.size(path) <= limit


def kinds_of(checked_paths: Mapping[Path, bool] | Mapping[str, bool], read: Iterable[Path]) -> dict[str, str] | None:
    """What is at the paths for which the analysis asked whether a file exists; None if that has changed.

    If nothing is there, the highest missing folder represents everything that would be in it. A path that was `read`
    need not be recorded: it is a file.
    """
    look = cache(kind_of)
    kinds: dict[str, str] = {}
    for path, is_file in checked_paths.items():
        kind = look(str(path))
        if (kind == FILE) is not is_file:
            return None
        if kind == NOTHING:
            kinds[_highest_missing(str(path), look)] = NOTHING
        else:
            kinds[str(path)] = kind
    for path in read:
        if kinds.get(str(path)) == FILE:
            del kinds[str(path)]
    return kinds


def _highest_missing(path: str, look: Callable[[str], str]) -> str:
    parent = os.path.dirname(path)
    while parent != path and look(parent) == NOTHING:
        path, parent = parent, os.path.dirname(parent)
    return path

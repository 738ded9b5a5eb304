"""The project that launch files belong to, and which of its files a launch starts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.launch.commands.commands import HintKind
from trl_lint.launch.judge.python_invocation import Start
from trl_lint.launch.judge.scanned_files import LARGEST
from trl_lint.launch.training.trainers import Trainers

if TYPE_CHECKING:
    from trl_lint.settings import Settings


# How many parts of a path that is only known by its end are searched for.
DEEPEST = 30


@dataclass(frozen=True, slots=True)
class LaunchProject:
    """Where started files are looked up.

    top: the project's folder. unknown: whether to report launches that say nothing about GPUs; None: only if more than
    the default set of rules is selected.
    """

    top: Path
    trainers: Trainers
    unknown: bool | None = None
    # Results, by how a script or a module is named.
    known: dict[tuple[Path, bool, str | None, str, str], Path | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, settings: Settings, roots: Sequence[Path], overlay: Mapping[Path, bytes] | None = None
    ) -> LaunchProject:
        """roots: the result of `discovery.import_roots`, the project's folder first."""
        top = Path(os.path.abspath(next(iter(roots), settings.root or Path.cwd())))
        user_trainers = [name for name, _ in settings.trainer_bases]
        return cls(top, Trainers(roots, user_trainers, overlay), settings.launch_unknown_gpus)

    def started(self, start: Start, path: Path) -> Path | None:
        """The file that a launch starts, if it is in the project."""
        known = start.module_name or (start.script.value if start.script else None)
        key = (path.parent, start.module is not None, known, start.path, changed_folder(start))
        if key not in self.known:
            found = self._started(start, path)
            self.known[key] = found if found and self._is_own(found, path) else None
        return self.known[key]

    def text_of(self, start: Start, path: Path, name: str) -> str | None:
        """The text of a file named in a launch's arguments; None if it can't be read, or is no text."""
        folders = (Path(os.path.normpath(folder / name)) for folder in self._places(start, path))
        disk = self.trainers.disk
        found = next((each for each in folders if self._is_own(each, path) and disk.has_file(each)), None)
        content = None if found is None else disk.read(found, LARGEST)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError:
            return None

    def _is_own(self, found: Path, path: Path) -> bool:
        """Whether a file is in the project of a launch file: other files are never read."""
        return any(found.is_relative_to(each) for each in (self.top, path.parent, *self.trainers.roots))

    def _started(self, start: Start, path: Path) -> Path | None:
        folders = self._places(start, path)
        if start.module is not None:
            return self.trainers.module(start.module_name, folders)
        candidates = (each for each in _candidates(start, folders) if self._is_own(each, path))
        return next(filter(self.trainers.disk.has_file, candidates), None)

    def _places(self, start: Start, path: Path) -> tuple[Path, ...]:
        """The folders that a path in a launch may be relative to, the likeliest first."""
        folders = tuple(dict.fromkeys(self._folders(path)))
        changed = changed_folder(start)
        # `/app` is a folder of another machine.
        if not changed or changed.startswith("/"):
            return folders
        # A folder that does not exist is that of the project, under the name of its clone.
        inside = (Path(os.path.normpath(each / changed)) for each in folders)
        return (
            tuple(each for each in inside if self._is_own(each, path) and self.trainers.disk.has_folder(each))
            or folders
        )

    def _folders(self, path: Path) -> Iterator[Path]:
        """The folders in which a command is typed: that of its file, or one above it."""
        inside = self.top in path.parents
        yield path.parent
        yield from (each for each in path.parents if inside and (each == self.top or self.top in each.parents))
        yield self.top
        yield from self.trainers.roots


def changed_folder(start: Start) -> str:
    """The folder that the commands before a launch have changed to, "" if none is known."""
    hints = reversed(start.command.surroundings.hints)
    return next((each.value for each in hints if each.kind is HintKind.FOLDER), "")


def _candidates(start: Start, folders: Sequence[Path]) -> Iterator[Path]:
    """Paths for a script of which only the end is known (`$ROOT/a/train.py`, `/app/a/train.py`), the longest first."""
    known = start.script.value if start.script else None
    parts = [each for each in start.path.split("/") if each not in ("", ".")]
    if known is not None and not known.startswith("/"):
        yield from (Path(os.path.normpath(folder / known)) for folder in folders)
        return
    if known is not None:
        yield Path(os.path.normpath(known))
    if "/" in start.path:
        for first in range(max(0, len(parts) - DEEPEST), len(parts)):
            yield from (Path(os.path.normpath(folder.joinpath(*parts[first:]))) for folder in folders)

"""Cached scans of files for how the project is run: they depend only on a file's name and content."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import PurePath
from typing import cast

import msgspec

from trl_lint.launch.judge.engines import FileEngines, of_file
from trl_lint.linter.execution.importers import imported
from trl_lint.linter.store.cache import digest
from trl_lint.linter.store.content_cache import ContentCache

_NOTHING = FileEngines()
# How many scans are kept in memory: editors and servers scan the same files again and again.
_MOST_REMEMBERED = 5_000
_remembered: dict[str, tuple[FileEngines, tuple[str, ...]]] = {}


class ScanCache:
    """Scans files, using stored results where there are any. kept: the store; None: nothing is stored."""

    def __init__(self, kept: ContentCache | None = None) -> None:
        self._kept = kept

    def at(self, path: PurePath, data: bytes) -> tuple[FileEngines, tuple[str, ...]]:
        """What a file shows, and the names that it imports if it is a Python file."""
        content = os.fsencode(path.name) + b"\0" + data
        known = self._kept.of(content) if self._kept is not None else None
        if known is not None:
            try:
                return _from_row(cast(dict[str, object], known))
            except (AttributeError, KeyError, TypeError, ValueError):  # foreign data
                pass
        shown, imports = _look(path, data, digest(content))
        if self._kept is not None:
            self._kept.add(content, _row(shown, imports))
        return shown, imports

    def save(self) -> None:
        """Store the new scans."""
        if self._kept is not None:
            self._kept.save()


def _look(path: PurePath, data: bytes, name: str) -> tuple[FileEngines, tuple[str, ...]]:
    """What a file shows, and the names that it imports. name: the key of both."""
    known = _remembered.get(name)
    if known is None:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        known = of_file(path, data), tuple(sorted(imported(data))) if path.suffix == ".py" else ()
        _remembered[name] = known
    return known


def _row(shown: FileEngines, imports: tuple[str, ...]) -> object:
    """The scan as JSON. Most files show nothing, so only fields that differ from the default are stored."""
    row = {name: value for name, value in asdict(shown).items() if value != getattr(_NOTHING, name)}
    return json.loads(json.dumps(row | {"imports": imports} if imports else row, default=sorted))


def _from_row(row: dict[str, object]) -> tuple[FileEngines, tuple[str, ...]]:
    imports = msgspec.convert(row.get("imports", ()), tuple[str, ...])
    return msgspec.convert({name: row[name] for name in row if name != "imports"}, FileEngines), imports

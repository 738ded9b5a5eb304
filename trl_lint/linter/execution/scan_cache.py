"""Cached scans of files for how the project is run: they depend only on a file's name and content."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import PurePath
from typing import TypedDict, cast

from trl_lint.domain.engines import TrainingEngine
from trl_lint.launch.judge.engines import FileEngines, Group, of_file
from trl_lint.launch.judge.own_stages import OwnStage
from trl_lint.launch.judge.starts import BareStart, LaunchEngines
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
                return _from_row(cast(_Row, known))
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


class _LaunchRow(TypedDict):
    """The fields of `LaunchEngines`."""

    engines: list[str]
    certain: bool
    configuration: str
    program: str
    names: list[str]
    whole: bool
    one_node: bool
    one_process: bool
    counted: bool
    options: list[str] | None
    drops_last: bool
    pattern: str
    by_program: bool
    one_each: bool
    values: list[tuple[str, str]]


class _Row(TypedDict, total=False):
    """The fields of `FileEngines` that differ from the default, and the names that the file imports."""

    beside: list[str]
    launches: list[_LaunchRow]
    program: bool
    bare: list[tuple[str, list[str], bool, bool, bool]]
    spawns: bool
    spawns_ranks: bool
    one_process: bool | None
    drops_last: bool
    names: list[str]
    group: str
    built: list[str]
    trains: bool
    own_stage: str
    spread: list[str]
    spawns_if: list[str]
    imports: list[str]


def _from_row(row: _Row) -> tuple[FileEngines, tuple[str, ...]]:
    shown = FileEngines(
        tuple(map(TrainingEngine, row.get("beside", ()))),
        tuple(map(_launch, row.get("launches", ()))),
        row.get("program", False),
        frozenset(BareStart(name, frozenset(options), *rest) for name, options, *rest in row.get("bare", ())),
        row.get("spawns", False),
        row.get("spawns_ranks", False),
        row.get("one_process"),
        row.get("drops_last", False),
        frozenset(row.get("names", ())),
        Group(row.get("group", "")),
        frozenset(row.get("built", ())),
        row.get("trains", False),
        OwnStage(row.get("own_stage", "")),
        frozenset(row.get("spread", ())),
        frozenset(row.get("spawns_if", ())),
    )
    return shown, tuple(row.get("imports", ()))


def _launch(row: _LaunchRow) -> LaunchEngines:
    return LaunchEngines(
        frozenset(map(TrainingEngine, row["engines"])),
        row["certain"],
        row["configuration"],
        row["program"],
        frozenset(row["names"]),
        row["whole"],
        row["one_node"],
        row["one_process"],
        row["counted"],
        None if row["options"] is None else frozenset(row["options"]),
        row["drops_last"],
        row["pattern"],
        row["by_program"],
        row["one_each"],
        frozenset((name, value) for name, value in row["values"]),
    )

"""Stored findings about the launch commands of a run, valid as long as what they start and name is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.linter.results import LaunchOutcome
from trl_lint.linter.store.cache import Cache, digest
from trl_lint.linter.store.dependencies import Dependencies, kinds_of
from trl_lint.linter.store.serialization import CheckOutcome, outcome_of, row_of, with_edits_built

if TYPE_CHECKING:
    from trl_lint.launch.training.disk import Disk
    from trl_lint.linter.store.serialization import OutcomeRow


class LaunchCache:
    """The outcomes of the files of a run that are searched for launch commands; saved once there is one for each.

    name: the name of the entry, which covers everything that the outcomes depend on, except the disk. edits: whether
    the edits of fixes are stored too.
    """

    def __init__(self, cache: Cache, name: str, files: Mapping[Path, bytes], *, edits: bool) -> None:
        self._cache = cache
        self._name = name
        self._files = dict(files)
        self._with_edits = edits
        self._known: dict[Path, LaunchOutcome] = self._load()

    def of(self, path: Path, source: bytes) -> LaunchOutcome | None:
        """What is known of a file with this content; None if nothing is."""
        return self._known.get(path) if self._files.get(path) == source else None

    def add(self, path: Path, source: bytes, outcome: LaunchOutcome, disk: Disk) -> None:
        """Record what was found, with the answers of the disk that it depends on."""
        if self._files.get(path) != source:
            return
        try:
            built = tuple(map(with_edits_built, outcome.findings)) if self._with_edits else outcome.findings
        except Exception:  # reported when a report asks for the edits
            return
        self._known[path] = LaunchOutcome(built, outcome.unasked, outcome.remark)
        if len(self._known) == len(self._files):
            self._save(disk)

    def _load(self) -> dict[Path, LaunchOutcome]:
        entry = self._cache.load(self._name) if self._files else None
        if not isinstance(entry, dict):
            return {}
        try:
            known = {Path(path): _outcome_of(path, *row) for path, row in entry["files"].items()}
            holds = known.keys() == self._files.keys() and _answers(**entry["answers"]).hold(lambda _: "", list)
        except (AttributeError, KeyError, TypeError, ValueError):  # foreign data
            return {}
        return known if holds else {}

    def _save(self, disk: Disk) -> None:
        kinds = kinds_of(disk.exists, [path for path, content in disk.contents.items() if content is not None])
        if kinds is None or disk.overlay:
            return
        contents = {str(path): None if content is None else digest(content) for path, content in disk.contents.items()}
        rows = {
            str(path): (row_of(CheckOutcome(each.findings, each.unasked), self._with_edits), each.remark)
            for path, each in self._known.items()
        }
        self._cache.save(self._name, {"files": rows, "answers": {"contents": contents, "kinds": kinds}})


def _outcome_of(path: str, row: OutcomeRow, remark: str) -> LaunchOutcome:
    outcome = outcome_of(path, row)
    return LaunchOutcome(outcome.findings, outcome.unasked, remark)


def _answers(contents: Mapping[str, str | None], kinds: Mapping[str, str]) -> Dependencies:
    """The answers of the disk: launches depend on nothing else that may change between runs."""
    return Dependencies(contents, kinds, small={}, limit=0, releases={}, engines={}, callers=[])

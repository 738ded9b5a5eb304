"""The texts of the last run on the same files, to determine what has changed since."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from trl_lint import files
from trl_lint.linter.store.cache import digest
from trl_lint.linter.store.comment_changes import MovedLines, lines_moved, moved
from trl_lint.linter.store.dependencies import Dependencies
from trl_lint.linter.store.serialization import CheckOutcome

# Comparing two texts takes a fraction of the time of an analysis: it pays if few have changed.
MOST_CHANGED = 20
# The zlib level: the fastest, which compresses half as well as the best.
_LEVEL = 1
# The most bytes stored of other files that were read, such as libraries.
_MOST_BESIDE = 8_000_000


class LastRow(TypedDict):
    entry: str
    texts: dict[str, str]


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Files in which comments and blank lines have changed. lines: the new lines of each, by its path.

    texts: their current contents.
    """

    lines: Mapping[str, MovedLines] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def all_moved(self, outcomes: Mapping[Path, CheckOutcome]) -> dict[Path, CheckOutcome]:
        """The outcomes of files, moved to the lines where their code is now; see `moved`."""
        return {path: self.moved(path, outcome) for path, outcome in outcomes.items()}

    def moved(self, path: Path, outcome: CheckOutcome) -> CheckOutcome:
        """The outcome of a file, moved to the lines where its code is now.

        Raises:
            KeyError: a line no longer exists, comments around it have changed, or the file can't be parsed.
        """
        if str(path) in self.lines and outcome.error is not None:
            raise KeyError(str(path))
        for each in outcome.findings:
            if each.path in self.lines and not self.lines[each.path].holds(each):
                raise KeyError(str(path))
        return moved(outcome, self.lines.get) if self.lines else outcome

    def with_current_contents(self, found: Dependencies) -> Dependencies:
        """The dependencies of an analysis of the current texts, if the stored one read these files before."""
        contents = {path: digest(self.texts[path]) for path in found.contents if path in self.texts}
        return found._replace(contents={**found.contents, **contents})


@dataclass(frozen=True, slots=True)
class LastRun:
    """entry: the name under which its outcome is stored. texts: those of its files, compressed, by path."""

    entry: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, row: object) -> LastRun | None:
        """The stored last run; None if there is none, or foreign data."""
        if not isinstance(row, dict):
            return None
        entry, texts = row.get("entry"), row.get("texts")
        return cls(entry, texts) if isinstance(entry, str) and isinstance(texts, dict) else None

    @classmethod
    def with_texts(cls, entry: str, texts: Mapping[Path, bytes], found: Dependencies) -> LastRun:
        """A run on these texts, together with the files that its analysis read."""
        packed = {str(path): _packed(text) for path, text in texts.items()}
        room = _MOST_BESIDE
        for path, content in found.contents.items():
            text = b"" if path in packed or content is None or room < 0 else _text_of(path)
            room -= len(text)
            if text and digest(text) == content:
                packed[path] = _packed(text)
        return cls(entry, packed)

    def row(self) -> LastRow:
        """The JSON form."""
        return {"entry": self.entry, "texts": dict(self.texts)}

    def changed_lines(self, now: Mapping[Path, bytes]) -> ChangedLines | None:
        """What has changed since; None if that is more than comments and blank lines in a few files."""
        texts = {str(path): text for path, text in now.items()}
        texts |= {path: _text_of(path) for path in self.texts if path not in texts}
        try:
            changed = {path: text for path, text in texts.items() if self.texts[path] != _packed(text)}
            before = {path: _unpacked(self.texts[path]) for path in changed}
        except (KeyError, TypeError, ValueError, zlib.error, binascii.Error):  # foreign data
            return None
        if len(changed) > MOST_CHANGED:
            return None
        lines: dict[str, MovedLines] = {}
        for path, text in changed.items():
            moved_lines = lines_moved(before[path], text)
            if moved_lines is None:
                return None
            lines[path] = moved_lines
        return ChangedLines(lines, changed)


def _text_of(path: str) -> bytes:
    """The content of a file; empty if it can't be read."""
    try:
        return files.read(Path(path))
    except (OSError, ValueError):
        return b""


def _packed(text: bytes) -> str:
    return base64.b64encode(zlib.compress(text, _LEVEL)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))

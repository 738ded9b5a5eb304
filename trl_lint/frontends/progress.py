"""How far a long run is, on a terminal: one line on standard error, which is gone once there is something to read."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

from trl_lint.linter import ending

_T = TypeVar("_T")
# Shorter runs say nothing.
SECONDS = 2.0
# Back to the beginning of the line, and nothing behind it.
_CLEARED = "\r\x1b[K"


class Progress:
    """Counts the files of a run that have been analysed. Nothing is written where nobody looks."""

    def __init__(self, out: TextIO | None = None, *, wait: float = SECONDS) -> None:
        self._out = out or sys.stderr
        self._is_seen = self._out.isatty()
        self._from = time.monotonic() + wait
        self._is_shown = False

    def tell(self, done: int, total: int) -> None:
        """So many files of all have been analysed."""
        if self._is_seen and time.monotonic() >= self._from:
            self._is_shown = True
            ending.clears = _CLEARED  # whoever ends the process here ends the line, too
            self._out.write(f"{_CLEARED}analysed {done} of {total} files")
            self._out.flush()

    def ends_with(self, results: Iterable[_T]) -> Iterator[_T]:
        """These results; from the first one on the terminal is theirs."""
        for result in results:
            self._stop()
            yield result
        self._stop()

    def _stop(self) -> None:
        if self._is_shown:
            self._is_shown = False
            ending.clears = ""
            self._out.write(_CLEARED)
            self._out.flush()

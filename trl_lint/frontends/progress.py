"""The progress of a long run on a terminal: one line on standard error, cleared once there is output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

from trl_lint.linter import ending

_T = TypeVar("_T")
# Shorter runs show nothing.
SECONDS = 2.0
# Return to the start of the line and clear it.
_CLEARED = "\r\x1b[K"


class Progress:
    """Counts the analysed files of a run. Writes nothing if standard error is not a terminal."""

    def __init__(self, out: TextIO | None = None, *, wait: float = SECONDS) -> None:
        self._out = out or sys.stderr
        self._is_seen = self._out.isatty()
        self._from = time.monotonic() + wait
        self._is_shown = False

    def update(self, done: int, total: int) -> None:
        """Report how many of all files have been analysed."""
        if self._is_seen and time.monotonic() >= self._from:
            self._is_shown = True
            ending.clears = _CLEARED  # if the process ends here, the line is cleared, too
            self._out.write(f"{_CLEARED}analysed {done} of {total} files")
            self._out.flush()

    def ends_with(self, results: Iterable[_T]) -> Iterator[_T]:
        """These results; the progress line is cleared before the first one."""
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

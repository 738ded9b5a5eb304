"""Where a report goes: to a stream, or to a file that is written once the report is complete."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TextIO

from trl_lint.frontends.terminal import fail, wants_colour


class Output:
    """The stream that a report is written to, until `close`.

    path: the file that receives it; None: it goes to `stream`.
    """

    def __init__(self, path: Path | None, stream: TextIO) -> None:
        self._path = path
        self._kept = io.BytesIO()
        if path is not None:
            _refuse(path)
            stream = io.TextIOWrapper(self._kept, encoding="utf-8", errors="backslashreplace", newline="")
        elif isinstance(stream, io.TextIOWrapper):  # no message may fail on a terminal that can't show it
            stream.reconfigure(errors="backslashreplace")
        self.stream = stream

    @property
    def is_terminal(self) -> bool:
        return self.stream.isatty()

    def wants_colour(self, choice: str) -> bool:
        """Whether to use colour; the environment variables apply to terminals, not to files."""
        return choice == "always" if self._path is not None else wants_colour(self.stream, choice)

    def close(self) -> None:
        """Write the file, if there is one; if that fails, exit with a message."""
        if self._path is None:
            return
        from trl_lint.linter.files.writing import write

        self.stream.flush()
        problem = write(self._path, self._kept.getvalue())
        if problem:
            fail(problem)


def _refuse(path: Path) -> None:
    """Exit if a path can't be written: before a long analysis, not after it."""
    if os.path.isdir(path):
        fail(f"{path}: cannot write: it is a folder")
    if not os.path.isdir(path.parent):
        fail(f"{path}: cannot write: there is no folder {path.parent}")

"""The files that a rank leaves behind, up to the last complete line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from trl_lint.verify.record.trace_records import TraceRecord


def last_line(output: str) -> str:
    """The last line that is not blank; "" if there is none."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def text(path: Path) -> str:
    """The text of a file; "" if it does not exist."""
    return path.read_text(errors="replace") if path.is_file() else ""


def records(path: Path) -> Iterator[TraceRecord]:
    """The records of a trace, up to the last complete one."""
    for line in text(path).splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the last line of a process that was killed while writing it
            return

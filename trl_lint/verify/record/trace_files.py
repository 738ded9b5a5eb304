"""The files that a rank leaves behind, as far as they are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from trl_lint.verify.record.trace_records import TraceRecord


def last_line(output: str) -> str:
    """The last line that says anything; "" where there is none."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def text(path: Path) -> str:
    """All of a file; "" where there is none."""
    return path.read_text(errors="replace") if path.is_file() else ""


def records(path: Path) -> Iterator[TraceRecord]:
    """The lines of a trace, to the last whole one."""
    for line in text(path).splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the last line of a process that was killed while it wrote
            return

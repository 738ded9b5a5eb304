"""Which processes of a run are alive."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

# Seconds in which the system takes away what was killed.
GRACE_SECONDS = 5


def of_ranks(folder: Path) -> list[int]:
    """The processes that ran a script, from the traces below a folder."""
    records = [json.loads(path.read_text().splitlines()[0]) for path in folder.rglob("rank*.jsonl")]
    return [record["pid"] for record in records if record["kind"] == "start"]


def left(numbers: Iterable[int]) -> list[int]:
    """Those that are still there in the end."""
    end = time.monotonic() + GRACE_SECONDS
    while (alive := [number for number in numbers if _is_alive(number)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def with_words(word: str) -> list[int]:
    """The processes that have a word in their command line."""
    found = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if word in _read(path)]
    return [int(path.name) for path in found if _is_alive(int(path.name))]


def _is_alive(number: int) -> bool:
    """Whether a process is there, and not merely waited for by nobody."""
    return _read(Path("/proc", str(number), "stat")).rpartition(")")[2].split()[:1] not in ([], ["Z"])


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # gone by now
        return ""

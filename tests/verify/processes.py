"""Which processes of a run are alive."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from trl_lint.verify.processes.watching import activity

# How often a sleeping process is checked: it may have been about to continue.
LOOKS = 10
# Seconds within which the system removes killed processes.
GRACE_SECONDS = 60


def of_ranks(folder: Path) -> list[int]:
    """The processes that ran a script, from the traces below a folder."""
    records = [json.loads(path.read_text().splitlines()[0]) for path in folder.rglob("rank*.jsonl")]
    return [record["pid"] for record in records if record["kind"] == "start"]


def left(numbers: Iterable[int]) -> list[int]:
    """The processes that are still alive in the end."""
    end = time.monotonic() + GRACE_SECONDS
    while (alive := [number for number in numbers if _is_alive(number)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


def with_words(word: str) -> list[int]:
    """The processes that have a word in their command line."""
    found = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if word in _read(path)]
    return [int(path.name) for path in found if _is_alive(int(path.name))]


def _is_alive(number: int) -> bool:
    """Whether a process exists, and is not a zombie."""
    return _read(Path("/proc", str(number), "stat")).rpartition(")")[2].split()[:1] not in ([], ["Z"])


class Clock:
    """Replaces the module `time`: once an event has happened, it is far ahead. No test waits for seconds."""

    sleep = staticmethod(time.sleep)

    def __init__(self, has_come: Callable[[], bool]) -> None:
        self._has_come = has_come
        self._ahead = 0.0

    def monotonic(self) -> float:
        if not self._ahead and self._has_come():
            self._ahead = 1e9
        return time.monotonic() + self._ahead


def asleep(folder: Path, kinds: dict[int, str]) -> Callable[[], bool]:
    """A function that returns whether each of these ranks has reached a record of this kind and is idle."""
    seen = 0

    def are_asleep() -> bool:
        nonlocal seen
        seen = seen + 1 if all(_is_asleep(folder, rank, kind) for rank, kind in kinds.items()) else 0
        return seen > LOOKS

    return are_asleep


def _is_asleep(folder: Path, rank: int, kind: str) -> bool:
    records = [json.loads(each) for path in folder.rglob(f"rank{rank}.jsonl") for each in _whole_lines(path)]
    return any(each["kind"] == kind for each in records) and not activity(records[0]["pid"])[1]


def _whole_lines(path: Path) -> list[str]:
    return _read(path).split("\n")[:-1]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""

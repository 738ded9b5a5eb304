"""What is executed: how often each statement was, and which came last, together with the collectives between them.

Both are kept in a file that is mapped into memory, so that they are there whatever becomes of the process: no Python
runs in one that is killed, aborts in C++ or waits in a collective. Writing a number to the ring is all that a statement
costs; each time that it is full it is counted, and begun anew.

```text
how often each was executed | collectives before its first time, and 1 | the ring before | the ring
```

All are unsigned numbers of four bytes. Statements count from 1; of number 0 it is told how often the ring was full.
"""

from __future__ import annotations

import builtins
import contextlib
import mmap
import os
import sys
import threading
from collections import Counter
from pathlib import Path

WRITE, FULL = "__trl_lint_ran__", "__trl_lint_full__"
SIZE = 4
# Statements of all files together; further files are not told of.
MOST_STATEMENTS = 1 << 16
RING = 1 << 15
# In the ring: this bit and the number of a collective, or that another wait for ranks begins (gradients).
COLLECTIVE, SYNCHRONISES = 1 << 31, (1 << 32) - 1
MOST = (1 << 32) - 1

_recorder: Recorder | None = None
_path: Path | None = None
_next = 1
_calls = 0
_owner = 0


def kept_path(folder: str, rank: int) -> Path:
    """Where a rank's numbers are; those of processes that it forks are beside it, with theirs behind the name."""
    return Path(folder, f"rank{rank}.ran")


def kept(folder: str, rank: int) -> list[Path]:
    """All that is there of a rank, its own first."""
    path = kept_path(folder, rank)
    return [*filter(Path.exists, [path]), *sorted(path.parent.glob(f"{path.name}-*"))]


def forget(folder: str, rank: int) -> None:
    """Remove what an earlier run has left behind."""
    for path in kept(folder, rank):
        path.unlink(missing_ok=True)


def entry(number: int) -> bytes:
    """A number as the ring has it."""
    return number.to_bytes(SIZE, sys.byteorder)


class Recorder:
    """Keeps what this process executes in a file. calls: collectives so far.

    Raises:
        OSError: there is no room for it.
    """

    def __init__(self, path: Path, calls: int = 0) -> None:
        self.path = path
        self._calls = calls
        self._lock = threading.RLock()
        ring, kept = RING * SIZE, (2 * MOST_STATEMENTS + RING) * SIZE
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            if hasattr(os, "posix_fallocate"):  # a write to a page that finds no room would end the process
                os.posix_fallocate(file, 0, kept + ring)
            else:
                os.ftruncate(file, kept + ring)
            self._kept = memoryview(mmap.mmap(file, kept)).cast("I")
            self._ring = mmap.mmap(file, ring, offset=kept)
        finally:
            os.close(file)
        self.write = self._ring.write

    def add(self, each: bytes) -> None:
        """Write to the ring, which may be full."""
        with self._lock:
            if self._ring.tell() + SIZE > RING * SIZE:
                self._count()
            self._ring.write(each)

    def _count(self) -> None:
        ring = memoryview(self._ring[:]).cast("I")
        self._kept[2 * MOST_STATEMENTS :] = ring
        self._kept[0] += 1
        self._ring[:] = bytes(RING * SIZE)
        self._ring.seek(0)
        self._calls = tally(ring, self._kept[:MOST_STATEMENTS], self._kept[MOST_STATEMENTS:], self._calls)


def tally(ring: memoryview[int], counts: memoryview[int], firsts: memoryview[int], calls: int) -> int:
    """Add what a ring has to the numbers of each statement; how many collectives there were then.

    calls: how many there were before.
    """
    found = Counter(ring)
    new = {number for number in found if 0 < number < MOST_STATEMENTS and not counts[number]}
    for number, count in found.items():
        if 0 < number < MOST_STATEMENTS:
            counts[number] = min(counts[number] + count, MOST)
    begun = calls
    for number in ring if new else ():
        if COLLECTIVE <= number < SYNCHRONISES:
            begun = number - COLLECTIVE + 1
        elif number in new:
            new.discard(number)
            firsts[number] = begun + 1
    if max(found, default=0) < COLLECTIVE:
        return calls
    return next((each - COLLECTIVE + 1 for each in reversed(ring) if COLLECTIVE <= each < SYNCHRONISES), calls)


def keep(folder: str, rank: int) -> None:
    """From now on, keep what is executed in this process and in those that it forks, each for itself."""
    global _recorder, _path, _owner
    with contextlib.suppress(OSError, ValueError):  # without room it is not known what was executed
        _recorder = Recorder(kept_path(folder, rank))
        _path = _recorder.path
        _owner = os.getpid()
        _use(_recorder)


def is_kept() -> bool:
    """Whether marks of this process are told apart from those of others: one that is forked has no numbers to give."""
    return _recorder is not None and os.getpid() == _owner


def numbers(count: int) -> int | None:
    """The first of so many numbers in a row for statements; None where there are no more."""
    global _next
    if _next + count > MOST_STATEMENTS:
        return None
    _next += count
    return _next - count


def collective(number: int) -> None:
    """A collective begins: its number among those of this process, from 0."""
    global _calls
    if _recorder is not None:
        _calls = number + 1
        _recorder.add(entry(COLLECTIVE | number))


def synchronises() -> None:
    """The script may begin to wait for other ranks, in no collective of its own."""
    if _recorder is not None:
        _recorder.add(entry(SYNCHRONISES))


def functions() -> list[object]:
    """What marks call."""
    return [vars(builtins)[name] for name in (WRITE, FULL) if name in vars(builtins)]


def _use(recorder: Recorder) -> None:
    def full(each: bytes) -> None:
        error = sys.exc_info()[1]
        if error is not None and error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise error  # not of the ring: of a handler of the script's for some signal
        recorder.add(each)

    setattr(builtins, WRITE, recorder.write)
    setattr(builtins, FULL, full)


def _in_child() -> None:
    """What is forked keeps numbers of its own, once it executes a statement."""
    global _recorder
    if _path is None:
        return
    path = _path.with_name(f"{_path.name}-{os.getpid()}")
    _recorder = None  # its collectives are not told either

    def begin(each: bytes) -> None:
        setattr(builtins, WRITE, bytes)  # for want of room: nothing
        with contextlib.suppress(OSError, ValueError):
            recorder = Recorder(path, _calls)
            _use(recorder)
            recorder.add(each)

    setattr(builtins, WRITE, begin)


os.register_at_fork(after_in_child=_in_child)

"""Execution records: how often each statement ran, and which ones ran last, with the collectives between them.

Both are kept in a memory-mapped file, so that they survive the process: no Python code runs in a process that is
killed, aborts in C++ or waits in a collective. A statement costs only one write to a ring; each time the ring is full,
it is counted and started again.

```text
how often each was executed | collectives before its first time, and 1 | the previous ring | the ring
```

All are unsigned numbers of four bytes. Statements count from 1; entry 0 holds how often the ring was full.
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
# The number of statements of all files together; further files are not recorded.
MOST_STATEMENTS = 1 << 16
RING = 1 << 15
# In the ring: this bit and the number of a collective, or the start of another wait for ranks (gradients).
COLLECTIVE, SYNCHRONISES = 1 << 31, (1 << 32) - 1
MOST = (1 << 32) - 1

_recorder: Recorder | None = None
_path: Path | None = None
_next = 1
_calls = 0
_owner = 0


def kept_path(folder: str, rank: int) -> Path:
    """The file with a rank's numbers; those of its forks are beside it, with their process id added to the name."""
    return Path(folder, f"rank{rank}.ran")


def kept(folder: str, rank: int) -> list[Path]:
    """All files of a rank, its own first."""
    path = kept_path(folder, rank)
    return [*filter(Path.exists, [path]), *sorted(path.parent.glob(f"{path.name}-*"))]


def forget(folder: str, rank: int) -> None:
    """Remove the files of an earlier run."""
    for path in kept(folder, rank):
        path.unlink(missing_ok=True)


def entry(number: int) -> bytes:
    """A number in the format of the ring."""
    return number.to_bytes(SIZE, sys.byteorder)


class Recorder:
    """Records what this process executes in a file. calls: collectives so far.

    Raises:
        OSError: there is no space for it.
    """

    def __init__(self, path: Path, calls: int = 0) -> None:
        self.path = path
        self._calls = calls
        self._lock = threading.RLock()
        ring, kept = RING * SIZE, (2 * MOST_STATEMENTS + RING) * SIZE
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            if hasattr(os, "posix_fallocate"):  # a write to a page without space would end the process
                os.posix_fallocate(file, 0, kept + ring)
            else:
                os.ftruncate(file, kept + ring)
            self._kept = memoryview(mmap.mmap(file, kept)).cast("I")
            self._ring = mmap.mmap(file, ring, offset=kept)
        finally:
            os.close(file)
        self.write = self._ring.write

    def add(self, each: bytes) -> None:
        """Write to the ring, even if it is full."""
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
    """Add the entries of a ring to the numbers of each statement. Return the number of collectives after it.

    calls: the number of collectives before.
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
    """From now on, record what is executed in this process and in its forks, each in its own file."""
    global _recorder, _path, _owner
    with contextlib.suppress(OSError, ValueError):  # without space, the executed statements are unknown
        _recorder = Recorder(kept_path(folder, rank))
        _path = _recorder.path
        _owner = os.getpid()
        _use(_recorder)


def is_kept() -> bool:
    """Whether this process records marks; a fork has no numbers of its own to assign."""
    return _recorder is not None and os.getpid() == _owner


def numbers(count: int) -> int | None:
    """The first of `count` consecutive numbers for statements; None if there are not enough left."""
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
    """The script may start to wait for other ranks, without calling a collective itself."""
    if _recorder is not None:
        _recorder.add(entry(SYNCHRONISES))


def functions() -> list[object]:
    """The functions that marks call."""
    return [vars(builtins)[name] for name in (WRITE, FULL) if name in vars(builtins)]


def _use(recorder: Recorder) -> None:
    def full(each: bytes) -> None:
        error = sys.exc_info()[1]
        if error is not None and error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise error  # not from the ring, but from a signal handler of the script
        recorder.add(each)

    setattr(builtins, WRITE, recorder.write)
    setattr(builtins, FULL, full)


def _in_child() -> None:
    """A fork records its own numbers, from its first statement on."""
    global _recorder
    if _path is None:
        return
    path = _path.with_name(f"{_path.name}-{os.getpid()}")
    _recorder = None  # its collectives are not recorded

    def begin(each: bytes) -> None:
        setattr(builtins, WRITE, bytes)  # until there is a file: no effect
        with contextlib.suppress(OSError, ValueError):
            recorder = Recorder(path, _calls)
            _use(recorder)
            recorder.add(each)

    setattr(builtins, WRITE, begin)


os.register_at_fork(after_in_child=_in_child)

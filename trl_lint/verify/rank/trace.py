"""The trace of one rank: one JSON object per line, passed to the system line by line.

A rank may end in an abort of C++ code at any moment, so nothing is buffered.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import executing, wrapping

_encode = json.JSONEncoder(default=repr).encode
# The trace of this process. Without one, patches record nothing.
current: Trace | None = None
_waits = wrapping.Outermost()


def trace_path(folder: str, rank: int) -> Path:
    return Path(folder, f"rank{rank}.jsonl")


def stacks_path(folder: str, rank: int) -> Path:
    """Where the interpreter writes the stacks of all threads, on request or when it dies of a signal."""
    return Path(folder, f"rank{rank}.stacks")


def output_path(folder: str, rank: int) -> Path:
    """The output of the rank itself, of both streams."""
    return Path(folder, f"rank{rank}.out")


_BEGINS, _ENDS = (f'{{"kind": "synchronises", "begins": {each}}}\n'.encode() for each in ("true", "false"))


class Trace:
    """Appends records to a file. Each has a `kind` and the time in seconds since the epoch."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, kind: str, **fields: object) -> None:
        os.write(self._file, f"{_encode({'kind': kind, 'time': time.time(), **fields})}\n".encode())

    def call(self, head: str, number: int, shape: object) -> None:
        """Record that a collective is about to start. head: its common beginning, from `head`.

        shape: lists of whole numbers, or None.
        """
        shown = "null" if shape is None else shape
        line = f'{head}, "number": {number}, "time": {time.time()}, "shape": {shown}}}\n'
        os.write(self._file, line.encode())

    def done(self) -> None:
        """Record that the last collective has returned: half of all records, so the shortest."""
        os.write(self._file, b'{"kind": "done"}\n')

    def synchronises(self, *, begins: bool) -> None:
        """Record that the script may wait for other ranks from now on, or no longer: several times in each step."""
        os.write(self._file, _BEGINS if begins else _ENDS)


@contextlib.contextmanager
def waiting(*, is_over_after_error: bool = True) -> Iterator[None]:
    """Record that the script may wait for other ranks in this block, without calling a collective itself.

    is_over_after_error: otherwise an exception, such as that of a lost connection, does not end the wait.
    """
    with _waits as is_outermost:
        if is_outermost and current is not None:
            current.synchronises(begins=True)
        is_over = is_over_after_error
        try:
            yield
            is_over = True
        finally:
            if is_outermost and is_over and current is not None:
                current.synchronises(begins=False)


@contextlib.contextmanager
def synchronising() -> Iterator[None]:
    """The same for a block that runs collectives unseen, such as a backward pass with DDP."""
    executing.synchronises()
    with waiting():
        yield


def forget() -> None:
    """A fork of a script is no rank: its calls and logs are not recorded."""
    global current
    current = None


os.register_at_fork(after_in_child=forget)


def head(kind: str, **fields: object) -> str:
    """The beginning of a record, encoded once for all records with this beginning."""
    return _encode({"kind": kind, **fields})[:-1]


def write(kind: str, **fields: object) -> None:
    """Write to the trace of this process, if there is one."""
    if current is not None:
        current.write(kind, **fields)

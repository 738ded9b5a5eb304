"""Ctrl+C and other requests to end the command: all started processes are ended, and the results so far reported.

During a run, a signal is only recorded: the code that waits for the run checks for it (`received`), and ends its
ranks in order, with their stacks. At any other time it is raised. A second signal ends all processes at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from trl_lint.verify.rank import descendants

if TYPE_CHECKING:
    from trl_lint.verify.record.traces import Run

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class RunInterrupted(KeyboardInterrupt):
    """The command was asked to end. run: what the ranks had recorded by then, if any were running."""

    def __init__(self, number: int, run: Run | None = None) -> None:
        self.number = number
        self.run = run


class _Signals:
    """The signals so far, and whether they are only recorded."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.waits = False


_state = _Signals()


@contextmanager
def raising() -> Iterator[None]:
    """In this block signals raise `RunInterrupted`; the previous handlers are restored afterwards."""
    global _state
    _state = _Signals()
    before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
    with suppress(ValueError):  # not in the main thread
        for each in SIGNALS:
            before[each] = signal.signal(each, _note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _state = _Signals()


@contextmanager
def deferred() -> Iterator[None]:
    """In this block they are only recorded; the caller checks for them afterwards."""
    before, _state.waits = _state.waits, True
    try:
        yield
    finally:
        _state.waits = before


def received() -> int:
    """The first signal; 0 if there was none."""
    return _state.numbers[0] if _state.numbers else 0


def _note(number: int, frame: FrameType | None) -> None:
    _state.numbers.append(number)
    if len(_state.numbers) > 1:
        descendants.kill_children()
    elif not _state.waits:
        raise RunInterrupted(number)

"""Ctrl+C and other signals that end the command: no started process is left running, and what is known is reported.

During a run a signal is only recorded: the code that waits for the run asks for it (`told`), and ends its ranks in
order, with their stacks. At any other time it is raised. A second signal ends what runs at once.
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
    """A signal asked the command to end. run: what the ranks had recorded by then, if any were running."""

    def __init__(self, number: int, run: Run | None = None) -> None:
        self.number = number
        self.run = run


class _Signals:
    """The signals received so far, and whether they are only recorded."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.waits = False


_state = _Signals()


@contextmanager
def heeded() -> Iterator[None]:
    """Raise signals as `RunInterrupted` in this context; restore the earlier handlers at its end."""
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
    """Only record signals in this context; the code that leaves it asks for them."""
    before, _state.waits = _state.waits, True
    try:
        yield
    finally:
        _state.waits = before


def told() -> int:
    """The first signal that was received; 0 if there was none."""
    return _state.numbers[0] if _state.numbers else 0


def _note(number: int, frame: FrameType | None) -> None:
    _state.numbers.append(number)
    if len(_state.numbers) > 1:
        descendants.kill_children()
    elif not _state.waits:
        raise RunInterrupted(number)

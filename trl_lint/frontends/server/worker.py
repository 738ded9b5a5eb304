"""The single thread in which documents are linted, so that the server stays responsive."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")
# After this many lints, garbage is collected even while the user is typing.
_MOST_LINTS = 30


class Worker:
    """Runs one task at a time, in the order of the requests."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lint")
        self._waiting = 0
        self._lints = 0
        # Trees are large and live long: collect garbage only when nothing is waiting, not between two steps.
        gc.disable()

    async def do(self, work: Callable[[], _Result]) -> _Result:
        """The result of `work`.

        Raises:
            Exception: what `work` raises.
        """
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def tidy(self, *, is_pause: bool) -> None:
        """Collect garbage if there may be much and nothing else is waiting. is_pause: the user is not typing."""
        self._lints += 1
        if not self._waiting and (is_pause or self._lints >= _MOST_LINTS):
            self._lints = 0
            self._thread.submit(_collect)

    def stop(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _collect() -> None:
    gc.unfreeze()  # a linter freezes what it has parsed, assuming that the process ends soon
    gc.collect()

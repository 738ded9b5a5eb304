"""A stack that is large enough for all trees that `nesting.measure` accepts: parsers and visitors recurse into them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

# LibCST's parser needs at most 8 MB of stack for MAX_DEPTH. Only the part that is used takes memory.
_STACK, _SMALLEST_STACK = 256 << 20, 32 << 20
# Each level of a tree takes a handful of calls.
_RECURSION = 200_000

_thread = threading.local()
_lock = threading.Lock()
_running = 0
_limit = 0

_Function = TypeVar("_Function", bound=Callable[..., Any])


def deeply(function: _Function) -> _Function:
    """Run a function on a stack that is large enough for all trees that `measure` accepts."""

    @wraps(function)
    def on_a_deep_stack(*args: Any, **keywords: Any) -> Any:
        if getattr(_thread, "is_deep", False):
            return function(*args, **keywords)
        return _in_a_thread(function, args, keywords)

    return on_a_deep_stack  # type: ignore[return-value]


def _in_a_thread(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    result: Any = None
    error: BaseException | None = None

    def work() -> None:
        nonlocal result, error
        _thread.is_deep = True
        try:
            result = function(*args, **keywords)
        except BaseException as raised:
            error = raised

    _recurse_deeply(1)
    try:
        _started(work).join()
    finally:
        _recurse_deeply(-1)
    if error is not None:
        raise error
    return result


def _started(work: Callable[[], None]) -> threading.Thread:
    """A daemon thread with as large a stack as possible; it does not keep the process alive."""
    for size in _sizes():
        before = threading.stack_size(size)
        try:
            thread = threading.Thread(target=work, name="trl-lint", daemon=True)
            thread.start()
        except RuntimeError:  # the machine can not provide this much
            if size == _SMALLEST_STACK:
                raise
        else:
            return thread
        finally:
            threading.stack_size(before)
    raise AssertionError("no size was tried")


def _sizes() -> Iterator[int]:
    size = _STACK
    while size >= _SMALLEST_STACK:
        yield size
        size //= 2


def _recurse_deeply(change: int) -> None:
    """Raise Python's recursion limit, which all threads share, and restore it once no function runs deeply any more."""
    global _running, _limit
    with _lock:
        if not _running:
            _limit = sys.getrecursionlimit()
        _running += change
        sys.setrecursionlimit(max(_limit, _RECURSION) if _running else _limit)

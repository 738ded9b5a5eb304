"""What is found in trees is kept, until the project that they belong to is gone.

    @tree_cache(64)
    def _parents(root): …          the results for the last 64 roots

A cache keeps the trees of its results alive: a large file takes about 15 MB, and the last 64 versions of it that an
editor has shown 1 GB. So a project that is no longer needed takes the results with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, cast

FindT = TypeVar("FindT", bound=Callable[..., object])

_clear: list[Callable[[], None]] = []


def tree_cache(size: int) -> Callable[[FindT], FindT]:
    """Keep the last results of a function of trees."""

    def decorated(find: FindT) -> FindT:
        cached = lru_cache(size)(find)
        _clear.append(cached.cache_clear)
        return cast("FindT", cached)

    return decorated


def forget_after(holder: object) -> None:
    """Forget all results once this object, which holds the trees, is gone."""
    weakref.finalize(holder, _forget).atexit = False


def _forget() -> None:
    for clear in _clear:
        clear()

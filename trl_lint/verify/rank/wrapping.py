"""Putting a function of ours in the place of a library's."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any


class Outermost(threading.local):
    """Tells a call that a user makes from the calls that it makes itself: only the outermost is told of."""

    depth = 0

    def __enter__(self) -> bool:
        self.depth += 1
        return self.depth == 1

    def __exit__(self, *error: Any) -> None:
        self.depth -= 1


def replace(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put `make(original)` in the place of a function or method, where there is one."""
    original = inspect.getattr_static(owner, name, None)
    if isinstance(original, (staticmethod, classmethod)) or not callable(original):
        return
    setattr(owner, name, functools.wraps(original)(make(original)))


class CallArguments:
    """Finds an argument of a call by its parameter's name."""

    def __init__(self, function: Callable[..., Any], names: Sequence[str] = ()) -> None:
        parameters = {} if names else inspect.signature(function).parameters
        self.names = list(names or parameters)
        self._defaults = {
            name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty
        }

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        if name in kwargs:
            return kwargs[name]
        try:
            return args[self.names.index(name)]
        except (ValueError, IndexError):
            return self._defaults.get(name)

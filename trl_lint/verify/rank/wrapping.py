"""Replacing functions of libraries by wrappers."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

# A wrapper of any function; all that is known is that it passes its arguments on.
Function: TypeAlias = Callable[..., object]
Wrapper: TypeAlias = Callable[[Function], Function]
_Result = TypeVar("_Result")


class Outermost(threading.local):
    """Distinguishes a user's call from nested calls: only the outermost one is recorded."""

    depth = 0

    def __enter__(self) -> bool:
        self.depth += 1
        return self.depth == 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1


def replace(owner: object, name: str, make: Callable[[Callable[..., _Result]], Function]) -> None:
    """Replace a function or method, if it exists, by `make(original)`.

    `make` decides what to do with the original's result.
    """
    original = inspect.getattr_static(owner, name, None)
    if isinstance(original, (staticmethod, classmethod)) or not callable(original):
        return
    setattr(owner, name, functools.wraps(original)(make(original)))


class CallArguments:
    """Finds an argument of a call by its parameter's name."""

    def __init__(self, function: Function, names: Sequence[str] = ()) -> None:
        parameters = {} if names else inspect.signature(function).parameters
        self.names = list(names or parameters)
        self._positions = {name: position for position, name in enumerate(self.names)}
        self._defaults: dict[str, object] = {
            name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty
        }

    def __call__(self, args: Sequence[object], kwargs: Mapping[str, object], name: str) -> object:
        if name in kwargs:
            return kwargs[name]
        position = self._positions.get(name)
        if position is not None and position < len(args):
            return args[position]
        return self._defaults.get(name)

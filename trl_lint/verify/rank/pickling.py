"""Marked functions that are pickled by value: without their marks.

dill pickles what a function refers to, including builtins. The datasets library identifies a function by its pickle,
and finds its cached results by that.

Source: dill/detect.py `globalvars` of dill 0.3.8; datasets/utils/_dill.py `Pickler` and datasets/fingerprint.py
`Hasher` of datasets 3.5.0
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType, ModuleType

from . import marking, wrapping
from .wrapping import Function


def patch_detect(module: ModuleType) -> None:
    """Hide the names that marks refer to: each process has its own marks."""

    def make(original: Function) -> Function:
        def globalvars(func: object, *args: object, **kwargs: object) -> object:
            return original(_unmarked(func), *args, **kwargs)

        return globalvars

    wrapping.replace(module, "globalvars", make)


def _unmarked(func: object) -> object:
    """A function, or code, without marks."""
    plain = func.__func__ if isinstance(func, MethodType) else func
    if not isinstance(plain, FunctionType):
        return marking.original(func) if isinstance(func, CodeType) else func
    code = marking.original(plain.__code__)
    if code is plain.__code__:
        return func
    return FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)


def patch_hashing(module: ModuleType) -> None:
    """Make functions of the user hashed without marks, as they are in their files."""

    def make(original: Function) -> Function:
        def save(self: object, obj: object, *args: object, **kwargs: object) -> object:
            return original(self, marking.original(obj) if isinstance(obj, CodeType) else obj, *args, **kwargs)

        return save

    if isinstance(pickler := getattr(module, "Pickler", None), type):
        wrapping.replace(pickler, "save", make)

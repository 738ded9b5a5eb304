"""Marked functions that are pickled by value: marks are no part of them.

dill takes along what a function names, builtins too. The datasets library takes a function for what dill makes of it,
and finds by that what it has prepared before.

Source: dill/detect.py `globalvars` of dill 0.3.8; datasets/utils/_dill.py `Pickler` and datasets/fingerprint.py
`Hasher` of datasets 3.5.0
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType, ModuleType

from . import marking, wrapping
from .wrapping import Function


def patch_detect(module: ModuleType) -> None:
    """What marks name is none of the names of a function: each process has its own marks."""

    def make(original: Function) -> Function:
        def globalvars(func: object, *args: object, **kwargs: object) -> object:
            return original(_unmarked(func), *args, **kwargs)

        return globalvars

    wrapping.replace(module, "globalvars", make)


def _unmarked(func: object) -> object:
    """A function, or code, as it is without marks."""
    plain = func.__func__ if isinstance(func, MethodType) else func
    if not isinstance(plain, FunctionType):
        return marking.original(func) if isinstance(func, CodeType) else func
    code = marking.original(plain.__code__)
    if code is plain.__code__:
        return func
    return FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)


def patch_hashing(module: ModuleType) -> None:
    """Have functions of the user's own hashed as they stand in their files."""

    def make(original: Function) -> Function:
        def save(self: object, obj: object, *args: object, **kwargs: object) -> object:
            return original(self, marking.original(obj) if isinstance(obj, CodeType) else obj, *args, **kwargs)

        return save

    if isinstance(pickler := getattr(module, "Pickler", None), type):
        wrapping.replace(pickler, "save", make)

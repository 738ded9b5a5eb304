"""Whether two objects of the analysis are structurally equal.

Stricter than `equality.alike`, which ignores explanations: code, files, functions and classes are equal only if they
are the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Module

# Fields computed on demand from the others, which add no information.
_WORKED_OUT = frozenset({"_element"})
_ONE_OF_A_KIND = (cst.CSTNode, Module, FunctionInfo, ClassInfo)


def same(one: object, other: object) -> bool:
    """Whether two objects are the same in every part."""
    seen: set[tuple[int, int]] = set()
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if type(a) is not type(b) or isinstance(a, _ONE_OF_A_KIND):
            return False
        seen.add((id(a), id(b)))
        parts = _parts(a, b)
        if parts is None:
            return False
        todo += parts
    return True


def _parts(a: object, b: object) -> list[tuple[object, object]] | None:
    """The pairs of parts of two objects of one class that have to be equal; None if the objects already differ."""
    if isinstance(a, (str, bytes, int, float, AbstractSet)):
        return [] if a == b else None
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return [(value, b[key]) for key, value in a.items()] if a.keys() == b.keys() else None
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return list(zip(a, b, strict=True)) if len(a) == len(b) else None
    names = list(_fields(a))
    if not names:
        return [] if a == b else None
    missing = object()
    return [(getattr(a, name, missing), getattr(b, name, missing)) for name in names]


def _fields(thing: object) -> Iterator[str]:
    for cls in type(thing).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        yield from (name for name in ((slots,) if isinstance(slots, str) else slots) if name not in _WORKED_OUT)
    yield from getattr(thing, "__dict__", ())

"""Rows that a rank has made of its own data and keeps, as rollouts of a policy: a loader of them gives it its own.

rows.append({"ids": batch["ids"], "old": model(batch["ids"])})
DataLoader(rows)                                          a list of dicts, tuples or objects that hold its own data
DataLoader(buffer)                                        if `buffer.append(row)` has filled a list that was empty at
                                                          first, of which `buffer[i]` gives an item
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import assigned_parts, last_name, of_class, self_attribute
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.frame import Frame

# Kinds of values that are data, if they differ between ranks.
_DATA = frozenset({Kind.BATCH, Kind.NUMBER, Kind.NUMBER_LIST, Kind.TENSOR, Kind.UNKNOWN})
# How deep rows are nested at most: a list of objects with a dict.
_MAX_DEPTH = 4
_MAKE_EMPTY = frozenset({"deque", "dict", "list"})


def own_row(frame: Frame, data: Value) -> Value | None:
    """Something of this rank's own data in the rows of a list or of a data set; None if nothing is known to be."""
    if isinstance(data, ProjectInstance):
        kept = (frame.read_attribute(data.cls, name) for name in _filled_later(data.cls))
        return next((found for each in kept if each is not None and (found := own_row(frame, each))), None)
    if data.kind is not Kind.CONTAINER:
        return None
    return _own_among(frame, data, _MAX_DEPTH)


def _own_among(frame: Frame, value: Value, depth: int) -> Value | None:
    if not depth:
        return None
    if value.kind in _DATA and value.rank.differs and Origin.DATA in value.rank.origins:
        return value
    frame.consume(value)
    held = _attributes(frame, value.cls) if isinstance(value, ProjectInstance) else frame.memory.contents(value)
    return next((found for each in held if (found := _own_among(frame, each, depth - 1))), None)


def _attributes(frame: Frame, cls: ClassInfo) -> Iterator[Value]:
    """The values of the attributes of an object: those that its code assigns, or the fields of a record."""
    fields = {each.target.value for each in of_class(cls.node, cst.AnnAssign) if isinstance(each.target, cst.Name)}
    for name in sorted(fields | cls.assigned()):
        value = frame.read_attribute(cls, name)
        if value is not None:
            yield value


def _filled_later(cls: ClassInfo) -> Iterator[str]:
    """The attributes that are empty where an object is made, and of which its `__getitem__` takes an item."""
    init, getter = cls.find("__init__"), cls.find("__getitem__")
    if init is None or getter is None or cls.find("__iter__") is not None:
        return
    taken = {self_attribute(each.value) for each in of_class(getter.node, cst.Subscript)} - {""}
    first = [(self_attribute(target), value) for target, value in assigned_parts(init.node)]
    for name in sorted(taken):
        values = [value for attribute, value in first if attribute == name]
        if values and all(map(_is_empty, values)):
            yield name


def _is_empty(node: cst.BaseExpression) -> bool:
    match node:
        case cst.List(elements=elements) | cst.Dict(elements=elements):
            return not elements
        case cst.Call(func=func, args=args):
            return last_name(func) in _MAKE_EMPTY and all(each.keyword is not None for each in args)
    return False

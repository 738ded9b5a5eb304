"""Classes that a call makes: those of tuples with names.

For example:

    Batch = namedtuple("Batch", ["ids", "mask"])     a class like `class Batch(NamedTuple)` with two fields
    Batch = namedtuple("Batch", "ids mask")          the same
    Batch = namedtuple("Batch", names)               unknown, unless the names are known
"""

from __future__ import annotations

from keyword import iskeyword
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.state import containers
from trl_lint.domain.values import UNKNOWN, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame


def _named_tuple(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`namedtuple("Batch", ["ids", "mask"])`."""
    name, given = args.get(0, "typename"), args.get(1, "field_names")
    names = [] if given is None else _names(frame, given)
    is_written_out = isinstance(node, cst.Call) and name is not None and isinstance(name.const, str)
    if name is None or not is_written_out or not names or not all(map(_may_be_named, (name.const, *names))):
        return UNKNOWN  # other names than these are replaced (`rename=True`), or are an error
    return ClassValue(frame.engine.tuple_class(frame, node, name.const, names))


def _may_be_named(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def _names(frame: Frame, given: Value) -> list[str]:
    """The names in a text, or in a list of texts; none if one of them is not known."""
    if isinstance(given.const, str):
        return given.const.replace(",", " ").split()
    names = [each.const for each in containers.positions_of(frame, given) or ()]
    return names if all(isinstance(each, str) for each in names) else []


HANDLERS = {"collections.namedtuple": _named_tuple}

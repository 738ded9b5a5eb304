"""How the operands of a tensor operation are read: which of them are tensors, the dimensions, and the sizes.

>>> from trl_lint.domain.kinds import NONE, NumberValue, TupleValue
>>> zero, one = NumberValue(const=0), NumberValue(const=1)
>>> dimensions_of((), {"dim": one}).const, dimensions_of((NONE,), {})  # x.sum(dim=1), x.sum(None)
(1, None)
>>> [each.const for each in spread((zero, one))], [each.const for each in spread((TupleValue(items=(zero, one)),))]
([0, 1], [0, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trl_lint.domain.kinds import is_none
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.shapes import SAME, UNKNOWN, Dim
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value

# Kinds that are certainly not a single value.
SEQUENCES = frozenset({Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE})
_DATA = frozenset({Kind.BATCH, Kind.TENSOR})
_DATA_ORIGINS = Origin.DATA | Origin.RANK
_OTHER_ORIGINS = Origin.CLOCK | Origin.MEMORY


def is_data(value: Value) -> bool:
    """Whether it is a tensor, or a batch of them."""
    return value.kind in _DATA


def is_number(value: Value) -> bool:
    return value.kind is Kind.NUMBER


def unless_none(value: Value | None) -> Value | None:
    """An argument; None if it only repeats the default None."""
    return None if is_none(value) else value


def dimensions_of(args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """The argument with the dimensions of a reduction; None if it reduces over all."""
    return unless_none(keywords.get("dim", keywords.get("axis", args[0] if args else None)))


def spread(args: Sequence[Value]) -> Sequence[Value]:
    """Sizes or dimensions, passed one by one or as one tuple."""
    return items_or_itself(args[0]) if len(args) == 1 else args


def size_of(value: Value) -> Dim:
    """How a number used as a size compares with that of the other ranks."""
    if type(value.const) is int:
        return SAME
    if value.shape is not None and len(value.shape.dims) == 1 and is_number(value):
        return value.shape.dims[0]
    return SAME if value.rank.state is State.SAME else UNKNOWN


def is_of_own_data(value: Value) -> bool:
    """Whether a value depends on rank-local data: from a loader, or the rank's slice of common data."""
    origins = value.rank.origins
    return value.rank.differs and bool(origins & _DATA_ORIGINS) and not origins & _OTHER_ORIGINS

"""The length of a dimension as far as numbers, lists and masks show it, and which values have dimensions at all.

For example:

    len(batch)                          SAME       loaders yield the same number of samples on all ranks
    x.size(1) of (SAME, RAGGED)         RAGGED
    [x for x in data if test(x)]        RAGGED     only the elements that pass the test are left
"""

from __future__ import annotations

from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks, shapes
from trl_lint.domain.kinds import ContainerValue, shape_of
from trl_lint.domain.ranks import PICKED, Origin, Rank, State
from trl_lint.domain.shapes import RAGGED, SAME, UNKNOWN, Dim, Shape
from trl_lint.domain.values import Kind, Value

# The kinds that may have dimensions. A number has none, and carries the size that it is.
TENSORS = frozenset({Kind.BATCH, Kind.TENSOR, Kind.UNKNOWN})
_SHAPED = TENSORS | {Kind.NUMBER}
MASK_REASON = "a mask selects a number of elements that depends on this rank's data"
COUNT_REASON = "there is a count for each number up to the largest one in this rank's data"
FOUND_REASON = "the number of elements that are not zero depends on this rank's data"
PICKED_REASON = "only those of this rank's elements that pass a test are kept"


def shaped(value: Value, shape: Shape | None) -> Value:
    """A value with this shape, if it can have one."""
    return value if value.shape is shape or value.kind not in _SHAPED else value.replace(shape=shape)


def varies(value: Value) -> bool:
    """Whether the value depends on rank-local data."""
    return value.rank.differs and Origin.DATA in value.rank.origins


def is_rank_local(value: Value) -> bool:
    """Whether the value is rank-local: its own data, or its slice of common data."""
    return value.rank.differs and bool((Origin.DATA | Origin.RANK) & value.rank.origins)


def size_along(shape: Shape | None, dim: Value | None) -> Shape | None:
    """The size of one dimension, as the shape of a number: one dimension of that kind."""
    place = None if shape is None or dim is None else shapes.position(shape, dim.const)
    return None if shape is None or place is None else Shape((shape.dims[place],), shape.reason)


def sized(value: Value, shape: Shape | None, size: Shape | None) -> Value:
    """A size of a tensor of this shape.

    It is not known to differ if the dimension may have the same length on all ranks.

    The dimension may be unknown, too (`x.shape[-1]` of an open shape). The number of samples has a fact of its own.
    """
    is_number = value.kind is Kind.NUMBER and value.rank.state is State.LOCAL
    if is_number and shape is not None and UNKNOWN in (shape if size is None else size).dims and not shape.is_ragged:
        return value.replace(rank=ranks.UNKNOWN)
    return shaped(value, size)


def elements(frame: Frame, value: Value) -> tuple[list[Shape | None], Dim]:
    """The shapes of the items of a list or tuple, and whether their number is the same on all ranks."""
    items = containers.positions_of(frame, value)
    if items is not None:
        return [shape_of(item) for item in items], SAME
    element, length = containers.iterate(frame, value)
    if isinstance(value, ContainerValue):
        sizes = {_length(cell.length) for cell in frame.memory.cells(value)}
        return [shape_of(element)], sizes.pop() if len(sizes) == 1 else UNKNOWN
    return [shape_of(element)], _length(length)


def _length(rank: Rank) -> Dim:
    if rank.state is State.SAME:
        return SAME
    return RAGGED if rank.how == PICKED else UNKNOWN

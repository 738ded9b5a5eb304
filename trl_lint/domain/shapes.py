"""Whether a tensor's shape differs between ranks: one fact per dimension.

Collectives need tensors of equal shapes. A dimension is *ragged* because of the data: a batch is padded to the length
of its longest sample, a mask selects a varying number of elements, a completion ends where it ends. The batch itself is
dimension 0, and loaders give all ranks equally many samples. A value whose `shape` is None has an unknown shape, and
nothing is said of an unknown dimension.

    >>> tokens, logits = Shape((SAME, RAGGED)), Shape((SAME, RAGGED, SAME))
    >>> print(without(tokens, [1]), without(tokens, [-1], keep=True))  # tokens.sum(1), tokens.sum(-1, keepdim=True)
    (same) (same, same)
    >>> print(broadcast([logits, Shape((SAME, RAGGED, SAME))]), broadcast([tokens, SCALAR]))
    (same, ragged, same) (same, ragged)
    >>> print(padded(tokens, 1), flattened(tokens).value, join(tokens, Shape((SAME, SAME))))
    (same, same) ragged (same, unknown)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import zip_longest


class Dim(str, Enum):
    """The size of one dimension, compared with the other ranks."""

    __hash__ = str.__hash__

    SAME = "same"
    UNKNOWN = "unknown"
    RAGGED = "ragged"


SAME, UNKNOWN, RAGGED = Dim.SAME, Dim.UNKNOWN, Dim.RAGGED


class Shape:
    """The dimensions of a tensor, in order. Immutable; equal if the dimensions are.

    Attributes:
        open: Whether further dimensions may follow the last one.
        tokens: For an open shape, whether a further dimension that is cut by a step, as when logits and labels are
            shifted against each other, is the one of this rank's tokens.
        reason: Why a dimension is ragged.
    """

    __slots__ = ("dims", "open", "reason", "tokens")

    def __init__(self, dims: Iterable[Dim], reason: str = "", *, open: bool = False, tokens: bool = False) -> None:
        self.dims = tuple(dims)
        self.open = open
        self.tokens = tokens
        self.reason = reason

    @property
    def is_ragged(self) -> bool:
        return RAGGED in self.dims

    @property
    def ragged(self) -> tuple[int, ...]:
        """The positions of the ragged dimensions."""
        return tuple(index for index, dim in enumerate(self.dims) if dim is RAGGED)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and (self.dims, self.open, self.tokens) == (
            other.dims,
            other.open,
            other.tokens,
        )

    def __hash__(self) -> int:
        return hash((self.dims, self.open, self.tokens))

    def __str__(self) -> str:
        return f"({', '.join([*(dim.value for dim in self.dims), *['...'] * self.open])})"

    def __repr__(self) -> str:
        return str(self)

    def replace(self, dims: Iterable[Dim]) -> Shape:
        """Other dimensions, for the same reason."""
        return Shape(dims, self.reason, open=self.open, tokens=self.tokens)


SCALAR = Shape(())
# A field of a batch whose name is not known yet, as in `{k: v.to(device) for k, v in batch.items()}`.
FIELD = Shape((), open=True)
# A batch, or a data set for batches, whose samples may all have the same length, on all ranks.
ONE_LENGTH = Shape((SAME, UNKNOWN))
# A batch whose samples are padded to the longest of them, and its fields, like `FIELD`.
OWN_LENGTH = Shape((SAME,), open=True)


def of_fields(batch: Shape | None) -> Shape:
    """The shape of the fields of a batch before their names are known."""
    return batch if batch is ONE_LENGTH or batch is OWN_LENGTH else FIELD


def join(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape where control flow merges: a dimension that may be either is unknown."""
    if a is b or a is None or b is None:
        return a if a is b else None
    if a == b:
        return a
    if len(a.dims) != len(b.dims) or a.open is not b.open:
        return None
    dims = (x if x is y else UNKNOWN for x, y in zip(a.dims, b.dims, strict=True))
    return Shape(dims, a.reason or b.reason, open=a.open, tokens=a.tokens and b.tokens)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape of the result of an element-wise operation.

    A ragged dimension remains ragged in any combination: the other operand either has the same size there or one
    element. An operand of unknown shape is assumed to have no further dimensions.
    """
    known = [shape for shape in shapes if shape is not None]
    if not known or any(shape.open for shape in known):
        return (
            next((shape for shape in known if shape.open), None)
            if len(known) == len(shapes) == 1
            else _single_operand(known)
        )
    longest = max(known, key=lambda shape: len(shape.dims))
    rows = zip_longest(*(shape.dims[::-1] for shape in known), fillvalue=SAME)
    dims = tuple(_strongest(row) for row in rows)[::-1]
    if len(known) < len(shapes):
        dims = tuple(dim if dim is RAGGED else UNKNOWN for dim in dims)
        if RAGGED not in dims:
            return None
    reason = next((shape.reason for shape in known if shape.is_ragged), longest.reason)
    return Shape(dims, reason)


def _single_operand(known: Sequence[Shape]) -> Shape | None:
    """The only operand that is not a scalar; None if there are several, as their alignment is not known."""
    others = [shape for shape in known if shape.dims or shape.open]
    return others[0] if len(others) == 1 else None


def _strongest(dims: Iterable[Dim]) -> Dim:
    present = set(dims)
    return RAGGED if RAGGED in present else UNKNOWN if UNKNOWN in present else SAME


def position(shape: Shape, dim: object) -> int | None:
    """The index of a dimension that is named by a constant; None if it is not known."""
    if type(dim) is not int or (dim < 0 and shape.open):
        return None
    index = dim + len(shape.dims) if dim < 0 else dim
    return index if 0 <= index < len(shape.dims) else None


def without(shape: Shape | None, dims: Sequence[object], *, keep: bool = False) -> Shape | None:
    """The shape after a reduction over these dimensions (constants), which are removed, or kept with one element."""
    if shape is None:
        return None
    places = [position(shape, dim) for dim in dims]
    if any(place is None for place in places):
        return None
    remaining = [
        SAME if index in places else dim for index, dim in enumerate(shape.dims) if keep or index not in places
    ]
    return shape.replace(remaining)


def padded(shape: Shape | None, dim: object) -> Shape | None:
    """The shape after `pad_across_processes`: one dimension has the length of the longest rank."""
    if shape is None:
        return None
    place = position(shape, dim)
    if place is None:
        # A dimension that a tensor certainly lacks is not padded; one that it may have is.
        return shape if type(dim) is int and not shape.open else None
    return shape.replace(SAME if index == place else each for index, each in enumerate(shape.dims))


def flattened(shape: Shape | None) -> Dim:
    """The size of the result of flattening all dimensions."""
    if shape is None or shape.open:
        return UNKNOWN
    return _strongest(shape.dims) if shape.dims else SAME

"""Whether a tensor's shape differs between ranks: one fact per dimension.

A collective of tensors takes equal shapes. What makes a dimension *ragged* is the data: a batch is padded to its
own longest sample, a mask picks as many elements as there are, a completion ends where it ends. The batch itself is
dimension 0, and loaders give all ranks equally many samples. A value whose `shape` is None has an unknown one, and
of an unknown dimension nothing is said.

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
    """The size of one dimension, compared with the other ranks'."""

    __hash__ = str.__hash__

    SAME = "same"
    UNKNOWN = "unknown"
    RAGGED = "ragged"


SAME, UNKNOWN, RAGGED = Dim.SAME, Dim.UNKNOWN, Dim.RAGGED


class Shape:
    """The dimensions of a tensor, in order. Never changed once built; equal if the dimensions are.

    open: there may be more of them behind the last one. tokens: of an open shape, a further dimension that is cut by
    a step, as logits and labels are shifted against each other, is that of this rank's tokens. reason: why a
    dimension is ragged.
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
# Of a field of a batch whose name is not known yet, as in `{k: v.to(device) for k, v in batch.items()}`.
FIELD = Shape((), open=True)
# Of a batch, and of what a data set makes one of: its samples may all be as long as each other, on all ranks.
ONE_LENGTH = Shape((SAME, UNKNOWN))
# Of a batch whose samples are padded to the longest of them, and of its fields, like `FIELD`.
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
    """The shape of an element-wise operation.

    What is known to be ragged stays so whatever it is combined with: the other operand fits it or has one element
    there. An operand of which nothing is known is taken to have no more dimensions than that.
    """
    known = [shape for shape in shapes if shape is not None]
    if not known or any(shape.open for shape in known):
        return next((shape for shape in known if shape.open), None) if len(known) == len(shapes) == 1 else _open(known)
    longest = max(known, key=lambda shape: len(shape.dims))
    rows = zip_longest(*(shape.dims[::-1] for shape in known), fillvalue=SAME)
    dims = tuple(_strongest(row) for row in rows)[::-1]
    if len(known) < len(shapes):
        dims = tuple(dim if dim is RAGGED else UNKNOWN for dim in dims)
        if RAGGED not in dims:
            return None
    reason = next((shape.reason for shape in known if shape.is_ragged), longest.reason)
    return Shape(dims, reason)


def _open(known: Sequence[Shape]) -> Shape | None:
    """With numbers an open shape stays what it is; how it lies against another one is not known."""
    others = [shape for shape in known if shape.dims or shape.open]
    return others[0] if len(others) == 1 else None


def _strongest(dims: Iterable[Dim]) -> Dim:
    present = set(dims)
    return RAGGED if RAGGED in present else UNKNOWN if UNKNOWN in present else SAME


def position(shape: Shape, dim: object) -> int | None:
    """Where a dimension stands that is named by a constant; None when that is not known."""
    if type(dim) is not int or (dim < 0 and shape.open):
        return None
    index = dim + len(shape.dims) if dim < 0 else dim
    return index if 0 <= index < len(shape.dims) else None


def without(shape: Shape | None, dims: Sequence[object], *, keep: bool = False) -> Shape | None:
    """The shape after a reduction over these dimensions (constants), which are kept with one element or go."""
    if shape is None:
        return None
    places = [position(shape, dim) for dim in dims]
    if any(place is None for place in places):
        return None
    left = [SAME if index in places else dim for index, dim in enumerate(shape.dims) if keep or index not in places]
    return shape.replace(left)


def padded(shape: Shape | None, dim: object) -> Shape | None:
    """The shape after `pad_across_processes`: one dimension is as long as the longest rank's."""
    if shape is None:
        return None
    place = position(shape, dim)
    if place is None:
        # A dimension that a tensor does not have is not padded; one that may be there is.
        return shape if type(dim) is int and not shape.open else None
    return shape.replace(SAME if index == place else each for index, each in enumerate(shape.dims))


def flattened(shape: Shape | None) -> Dim:
    """The size of all dimensions as one."""
    if shape is None or shape.open:
        return UNKNOWN
    return _strongest(shape.dims) if shape.dims else SAME

"""Shapes that the numbers in a tensor decide: how many pass a test, or how large the largest is.

torch.masked_select(x, mask)                one element for each that passes
torch.nonzero(x)                            one row of indices for each
torch.bincount(x)                           one count for each number up to the largest
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trl_lint.analysis.transfer.tensors.tensor_sizes import COUNT_REASON, FOUND_REASON, MASK_REASON, varies
from trl_lint.domain.shapes import RAGGED, SAME, Shape
from trl_lint.domain.values import Value
from trl_lint.knowledge.torch_ops import Operation, ShapeTransfer


def of_masked(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    mask = keywords.get("mask", args[0] if args else None)
    deciding = mask if row.shape is ShapeTransfer.PICKS_BY_MASK and mask is not None else receiver
    if not varies(deciding) or (set(keywords) & {"as_tuple", "return_inverse", "return_counts", "dim"}):
        return None
    if row.shape is ShapeTransfer.PICKS_POSITIONS:
        return Shape((RAGGED, SAME), FOUND_REASON)
    return Shape((RAGGED,), MASK_REASON)


def counted(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Shape | None:
    """`torch.bincount(x)`; with a least length, that may be all that there is."""
    has_least = len(args) > 1 or "minlength" in keywords
    return Shape((RAGGED,), COUNT_REASON) if varies(receiver) and not has_least else None

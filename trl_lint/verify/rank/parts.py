"""How a DTensor is distributed over the ranks: which of them have parts of it, and how the parts are combined.

Nothing is gathered for it: each rank records its own part, and the reader of the traces combines them.

Sources: torch/distributed/tensor/placement_types.py `Placement`, `Partial`, _ops/_math_ops.py `_NormPartial` and
torch/distributed/device_mesh.py `DeviceMesh` of torch 2.13.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# For bools, which torch adds up as numbers.
_OF_BOOLS = {"sum": "max", "product": "min"}


class MeshPlacement(Protocol):
    """How a DTensor is distributed on one dimension of its mesh."""

    def is_partial(self) -> bool: ...
    def is_shard(self) -> bool: ...


def placements(tensor: object) -> Sequence[MeshPlacement]:
    """The placements by dimension of the mesh; empty for any other value."""
    found: Sequence[MeshPlacement] = getattr(tensor, "placements", ())
    return found


def together(tensor: Tensor) -> str | None:
    """How the numbers of the ranks are combined: a reduction, `norm 2`, or "" if each rank has the whole number.

    None if unknown.
    """
    hows = {_how(each) for each in placements(tensor) if each.is_partial()}
    if len(hows) > 1:
        return None
    how = hows.pop() if hows else ""
    return _OF_BOOLS.get(how, how) if "bool" in str(tensor.dtype) else how


def _how(placement: MeshPlacement) -> str:
    order = getattr(placement, "norm_type", None)
    if order is not None:
        return f"norm {float(order):g}"
    # A string, or up to torch 2.2 a member of `ReduceOp.RedOpType`.
    return str(getattr(placement, "reduce_op", "")).rpartition(".")[2].lower()


def holders(tensor: object, kind: str) -> list[int]:
    """The ranks that have the parts of a tensor, including this one; empty if there are no such parts.

    kind: `is_shard` for parts that are concatenated, `is_partial` for those that are still to be reduced.
    """
    divided = [bool(getattr(each, kind)()) for each in placements(tensor)]
    if not any(divided):
        return []
    mesh = getattr(tensor, "device_mesh")  # noqa: B009 (a plain tensor has none)
    place = mesh.get_coordinate()
    if place is None:
        return []
    index = tuple(slice(None) if is_divided else at for is_divided, at in zip(divided, place, strict=True))
    return sorted(mesh.mesh[index].flatten().tolist())


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor."""
    found: Tensor = getattr(tensor, "_local_tensor", tensor)
    return found.detach()

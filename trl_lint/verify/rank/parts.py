"""How a DTensor lies on the ranks: which of them have parts of it, and what puts the parts together.

Nothing is gathered for it: each rank tells its own part, and whoever reads the traces puts them together.

Sources: torch/distributed/tensor/placement_types.py `Placement`, `Partial`, _ops/_math_ops.py `_NormPartial` and
torch/distributed/device_mesh.py `DeviceMesh` of torch 2.13.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# Of bools, which torch adds up as numbers.
_OF_BOOLS = {"sum": "max", "product": "min"}


class MeshPlacement(Protocol):
    """How a DTensor lies on one dimension of its mesh."""

    def is_partial(self) -> bool: ...
    def is_shard(self) -> bool: ...


def placements(tensor: object) -> Sequence[MeshPlacement]:
    """By dimension of the mesh; none of what is no DTensor."""
    found: Sequence[MeshPlacement] = getattr(tensor, "placements", ())
    return found


def together(tensor: Tensor) -> str | None:
    """What puts numbers of the ranks together: a reduction, `norm 2`, or "" where each rank has the whole number.

    None where that is not known.
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
    """The ranks that have the parts of a tensor, this one among them; none where there are no such parts.

    kind: `is_shard` for parts that lie side by side, `is_partial` for those that are still to be reduced.
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
    """What this rank has of a tensor."""
    found: Tensor = getattr(tensor, "_local_tensor", tensor)
    return found.detach()

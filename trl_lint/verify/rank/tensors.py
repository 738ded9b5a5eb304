"""What of a tensor is looked at, so that anything that has it passes for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable


@runtime_checkable
class TensorLike(Protocol):
    """A tensor of torch, or an array that a collective is handed in its place."""

    @property
    def dtype(self) -> object: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def device(self) -> object: ...


# By class, whether it has all that is looked at.
_known: dict[type, bool] = {}


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Whether a value passes for a tensor; a look at its class, as one at a protocol costs more than a collective."""
    kind = type(value)
    if kind not in _known:
        _known[kind] = all(hasattr(kind, name) for name in ("dtype", "shape", "device"))
    return _known[kind] or isinstance(value, TensorLike)


def listed(value: object) -> Sequence[object]:
    """What a collective is handed: a tensor, or several."""
    return value if isinstance(value, (list, tuple)) else [value]

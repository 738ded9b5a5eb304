"""The attributes of a tensor that are needed, so that anything that has them counts as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable


@runtime_checkable
class TensorLike(Protocol):
    """A tensor of torch, or an array that is passed to a collective instead."""

    @property
    def dtype(self) -> object: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def device(self) -> object: ...


# By class, whether it has all of these attributes.
_known: dict[type, bool] = {}


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Whether a value counts as a tensor; decided by its class, as a protocol check costs more than a collective."""
    kind = type(value)
    if kind not in _known:
        _known[kind] = all(hasattr(kind, name) for name in ("dtype", "shape", "device"))
    return _known[kind] or isinstance(value, TensorLike)


def listed(value: object) -> Sequence[object]:
    """The arguments of a collective: a tensor, or several."""
    return value if isinstance(value, (list, tuple)) else [value]

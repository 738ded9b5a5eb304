"""What of a tensor is looked at, so that anything that has it passes for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class TensorLike(Protocol):
    """A tensor of torch, or an array that a collective is handed in its place."""

    @property
    def dtype(self) -> object: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def device(self) -> object: ...


def listed(value: object) -> Sequence[object]:
    """What a collective is handed: a tensor, or several."""
    return value if isinstance(value, (list, tuple)) else [value]

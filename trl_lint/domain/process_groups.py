"""Process groups: whether all ranks are in one, and which tensors its backend takes."""

from __future__ import annotations

from typing import ClassVar

from trl_lint.domain.kinds import InstanceValue


class ProcessGroup(InstanceValue):
    """A process group. of_all: all ranks are in it."""

    __slots__ = ("of_all",)
    of_all: bool
    parts: ClassVar[dict[str, object]] = {"of_all": False}

    def either(self, other: InstanceValue) -> InstanceValue | None:
        are_of_all = isinstance(other, ProcessGroup) and self.of_all and other.of_all
        return self.as_a(ProcessGroup).with_parts(True) if are_of_all else None


class GpuGroup(ProcessGroup):
    """A process group that takes tensors on GPUs only."""

    __slots__ = ()


class MeshGroup(ProcessGroup):
    """A process group of a device mesh, which each rank of the mesh has: with those of its row, or of its column."""

    __slots__ = ()


class LikeAllRanks(ProcessGroup):
    """A process group with the same backend as the group of all ranks, or that group."""

    __slots__ = ()

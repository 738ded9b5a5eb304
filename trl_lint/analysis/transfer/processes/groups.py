"""Process groups: which of them a collective is passed, and which tensors the backend of a new one accepts.

The value of each of these:

    dist.new_group(ranks)                     with the backend of the default group (LikeAllRanks)
    dist.new_group(ranks, backend="nccl")     GPUs only (GpuGroup)
    dist.all_reduce(x, group=pair)            groups_of: [pair]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import GpuGroup, LikeAllRanks, is_none
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.backends import NEW_GROUP_BACKEND

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Collective


def groups_of(row: Collective, args: Arguments) -> list[Value]:
    """The process groups that a collective is passed."""
    groups = (args.get(*parameter) for parameter in row.groups)
    return [group for group in groups if group is not None]


def new_group(group: Value, args: Arguments) -> Value:
    """The result of `new_group`, with what is known of its backend."""
    backend = args.get(*NEW_GROUP_BACKEND)
    if is_none(backend):
        return group.as_a(LikeAllRanks)
    return group.as_a(GpuGroup) if is_for_gpus(backend) else group


def is_for_gpus(backend: Value | None, default: bool = False) -> bool:
    """Whether a backend is known to accept tensors on GPUs only."""
    if backend is None or backend.kind is Kind.NONE:
        return default
    return backend.const is not MISSING and isinstance(backend.const, str) and backend.const.lower() == "nccl"

"""Process groups: which of them a collective is given, and what takes the tensors of a new one.

What each of these is:

    dist.new_group(ranks)                     as the backend of all ranks (LikeAllRanks)
    dist.new_group(ranks, backend="nccl")     GPUs only (GpuGroup)
    dist.all_reduce(x, group=pair)            groups_of: [pair]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import GpuGroup, LikeAllRanks, is_none
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.backends import OWN_GROUP_BACKEND

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Collective


def groups_of(row: Collective, args: Arguments) -> list[Value]:
    """The process groups that a collective is given."""
    given = (args.get(*parameter) for parameter in row.groups)
    return [group for group in given if group is not None]


def own_group(group: Value, args: Arguments) -> Value:
    """What `new_group` returns, with what is known of its backend."""
    backend = args.get(*OWN_GROUP_BACKEND)
    if is_none(backend):
        return group.as_a(LikeAllRanks)
    return group.as_a(GpuGroup) if is_for_gpus(backend) else group


def is_for_gpus(backend: Value | None, default: bool = False) -> bool:
    """Whether a backend takes tensors on GPUs only, where it is known to."""
    if backend is None or backend.kind is Kind.NONE:
        return default
    return backend.const is not MISSING and isinstance(backend.const, str) and backend.const.lower() == "nccl"

"""Process groups: which of them a collective is passed, whether all ranks are in it, and what its backend accepts.

For example:

    dist.all_reduce(x, group=pair)            groups_of: [pair]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.constants import MISSING
from trl_lint.domain.process_groups import ProcessGroup
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Collective


def groups_of(row: Collective, args: Arguments) -> list[Value]:
    """The process groups that a collective is passed."""
    groups = (args.get(*parameter) for parameter in row.groups)
    return [group for group in groups if group is not None]


def is_of_all_ranks(group: Value) -> bool:
    """Whether all ranks are in a group that a collective is passed: None is the default group."""
    return group.kind is Kind.NONE or (isinstance(group, ProcessGroup) and group.of_all)


def is_known(value: Value) -> bool:
    """Whether a value is a process group: one that was made here, or that of all ranks, `dist.group.WORLD`."""
    return isinstance(value, ProcessGroup)


def is_for_gpus(backend: Value | None, default: bool = False) -> bool:
    """Whether a backend is known to accept tensors on GPUs only."""
    if backend is None or backend.kind is Kind.NONE:
        return default
    return backend.const is not MISSING and isinstance(backend.const, str) and backend.const.lower() == "nccl"

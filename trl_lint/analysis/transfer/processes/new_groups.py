"""Process groups that a program makes: who is in them, and which tensors their backend accepts.

The value of each of these:

    dist.new_group(ranks)                     with the backend of the default group (LikeAllRanks)
    dist.new_group(ranks, backend="nccl")     GPUs only (GpuGroup)
    dist.new_group(backend="gloo")            all ranks (of_all)
    dist.new_group(range(world_size))         all ranks (of_all)
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import is_bound_once
from trl_lint.analysis.program.syntax import assigned_once, holder_name, last_name, of_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.groups import is_for_gpus
from trl_lint.domain.constants import MISSING, WORLD_SIZE
from trl_lint.domain.kinds import is_none
from trl_lint.domain.process_groups import GpuGroup, LikeAllRanks, ProcessGroup
from trl_lint.domain.values import SAME
from trl_lint.knowledge.backends import NEW_GROUP_BACKEND, NEW_GROUP_RANKS
from trl_lint.knowledge.heuristics import WORLD_FIELD


def new_group(frame: Frame, args: Arguments) -> ProcessGroup:
    """The result of `new_group`, with what is known of its members and its backend."""
    backend = args.get(*NEW_GROUP_BACKEND)
    members = args.node(*NEW_GROUP_RANKS)
    of_all = is_none(args.get(*NEW_GROUP_RANKS)) or _are_all_ranks(frame, None if members is None else members.value)
    on_gpus = GpuGroup if is_for_gpus(backend) else ProcessGroup
    return SAME.as_a(LikeAllRanks if is_none(backend) else on_gpus).with_parts(of_all)


def _are_all_ranks(frame: Frame, members: cst.CSTNode | None) -> bool:
    """Whether an expression lists all ranks: `list(range(world_size))`, `[i for i in range(world_size)]`, or a name."""
    match members:
        case cst.Name(value=name):
            bound = assigned_once(frame.root, name) if _is_never_changed(frame.root, members) else None
            return not isinstance(bound, cst.Name) and _are_all_ranks(frame, bound)
        case cst.ListComp(elt=cst.Name(value=name), for_in=cst.CompFor(target=cst.Name(value=target), ifs=[])):
            return name == target and _are_all_ranks(frame, members.for_in.iter)
        case cst.Call(args=[cst.Arg(value=inner, keyword=None)]) if last_name(members.func) in ("list", "tuple"):
            return _are_all_ranks(frame, inner)
        case cst.Call(args=[cst.Arg(value=size, keyword=None)]) if last_name(members.func) in ("arange", "range"):
            return _is_world_size(frame, size)
    return False


def _is_never_changed(root: cst.CSTNode, members: cst.Name) -> bool:
    """Whether a list is bound once, and no method or index of it is used: `members.remove(0)`."""
    parts = (*of_class(root, cst.Attribute), *of_class(root, cst.Subscript))
    return is_bound_once(root, members) and all(holder_name(each) != members.value for each in parts)


def _is_world_size(frame: Frame, size: cst.BaseExpression) -> bool:
    value = frame.known_value(size)
    if value is None or value.const is MISSING:
        return WORLD_FIELD.fits(last_name(size))
    return value.const is WORLD_SIZE

"""The collectives that DTensors run, for example in FSDP 2 when a whole parameter is needed.

They return before they are complete, and their result waits when it is used. Here each is waited for at once, so that a
rank that waits in vain is seen to wait in it; the numbers are the same. While torch traces them for a compiler nothing
is recorded.

Source: torch/distributed/_functional_collectives.py of torch 2.13.0, where `all_gather_tensor` and
`reduce_scatter_tensor` are the former names of `all_gather_single` and `reduce_scatter_single`.
"""

from __future__ import annotations

from types import ModuleType

from . import collectives, trace, wrapping
from .imports import Patch
from .job import Job
from .tensors import listed
from .wrapping import Function, Wrapper

# Each takes the tensor first, a group or a mesh as `group`, and a reduction as `reduceOp`.
NAMES = (
    "all_gather_into_tensor_coalesced",
    "all_gather_single",
    "all_gather_single_coalesced",
    "all_gather_tensor",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "broadcast",
    "reduce_scatter_single",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced",
)
# Names required in the module: if a release lacks one, nothing is recorded.
_NEEDED = ("_are_we_tracing", "AsyncCollectiveTensor", "c10d")


def patch(job: Job) -> Patch:
    """The patch of torch.distributed._functional_collectives."""

    def patch_module(functional: ModuleType) -> None:
        for name in NAMES if all(hasattr(functional, name) for name in _NEEDED) else ():
            wrapping.replace(functional, name, _recorded(functional, job, name))

    return patch_module


def _recorded(functional: ModuleType, job: Job, name: str) -> Wrapper:
    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def recorded(*args: object, **kwargs: object) -> object:
            if functional._are_we_tracing() or trace.current is None:  # before everything that a compiler can't trace
                return original(*args, **kwargs)
            with collectives.outermost as is_outermost:
                group = _members(functional, pick(args, kwargs, "group")) if is_outermost else []
                if group == []:
                    return original(*args, **kwargs)
                given = pick(args, kwargs, pick.names[0])
                collectives.begin(job, name, group, str(pick(args, kwargs, "reduceOp") or "").upper(), given)
                result = original(*args, **kwargs)
                for each in listed(result):
                    if isinstance(each, functional.AsyncCollectiveTensor):
                        each.trigger_wait()
                trace.current.done()
                return result

        return recorded

    return make


def _members(functional: ModuleType, group: object) -> list[int] | None:
    """The members of a group that is passed as a mesh, one of its dimensions, a name or its ranks."""
    try:
        if isinstance(group, tuple):
            mesh, dimension = group
            group = mesh.get_group(dimension)
        elif hasattr(group, "get_group"):
            group = group.get_group()
        elif isinstance(group, str):
            group = functional.c10d._resolve_process_group(group)
    except Exception:  # not a group: the call itself will raise an error
        return []
    return collectives.ranks(functional.c10d, group)

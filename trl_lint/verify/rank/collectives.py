"""Collectives: each call is recorded before it starts and after it has returned.

Only the outermost call is recorded, so an `all_gather_object` is one record, whatever it calls internally. The gradient
synchronisation of DDP is in C++ and not seen here, but in `flight_recorder.py`. The collectives of DTensors are other
functions (`functional.py`).

Source: https://docs.pytorch.org/docs/2.13/distributed.html; `all_gather_single` and `reduce_scatter_single`, which FSDP
calls as of torch 2.13: torch/distributed/distributed_c10d.py.
"""

from __future__ import annotations

import itertools
import os
import threading
from datetime import timedelta
from types import ModuleType
from typing import NamedTuple

from . import call_stack, executing, imported, in_place_of_nccl, nccl, placement, trace, wrapping
from .imports import Patch
from .job import Job
from .tensors import is_tensor, listed
from .wrapping import Function, Wrapper

# Function of torch.distributed, and the parameter whose dtype and shape are recorded ("" for objects and barriers).
PAYLOADS = {
    "all_gather": "tensor",
    "all_gather_coalesced": "input_tensor_list",
    "all_gather_into_tensor": "input_tensor",
    "all_gather_object": "",
    "all_gather_single": "input_tensor",
    "all_reduce": "tensor",
    "all_reduce_coalesced": "tensors",
    "all_to_all": "input_tensor_list",
    "all_to_all_single": "input",
    "barrier": "",
    "broadcast": "tensor",
    "broadcast_object_list": "",
    "gather": "tensor",
    "gather_object": "",
    "monitored_barrier": "",
    "new_group": "",
    "reduce": "tensor",
    "reduce_scatter": "output",
    "reduce_scatter_single": "input",
    "reduce_scatter_tensor": "input",
    "scatter": "tensor",
    "scatter_object_list": "",
}
# Longer than any run.
FOR_EVER = timedelta(days=7)
_calls = itertools.count()
# Groups are kept to the end: the shutdown of gloo's threads sometimes hangs after everything is done (torch 2.13).
_groups: list[object] = []
outermost = wrapping.Outermost()


def patch(job: Job) -> Patch:
    """The patch of torch.distributed.distributed_c10d."""

    def patch_c10d(c10d: ModuleType) -> None:
        for name, payload in PAYLOADS.items():
            if payload or name == "monitored_barrier":  # lists of objects are filled as they are
                wrapping.replace(c10d, name, in_place_of_nccl.wrapper(c10d, name))
            wrapping.replace(c10d, name, _recorded(c10d, job, name, payload))
        wrapping.replace(c10d, "init_process_group", _started(c10d, job))
        wrapping.replace(c10d, "new_group", _with_timeout(c10d, job))
        wrapping.replace(c10d, "barrier", _on_any_device)
        wrapping.replace(getattr(c10d, "Work", None), "wait", _waiting)

    return patch_c10d


def _recorded(c10d: ModuleType, job: Job, name: str, payload: str) -> Wrapper:
    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def recorded(*args: object, **kwargs: object) -> object:
            with outermost as is_outermost:
                if not is_outermost or trace.current is None or pick(args, kwargs, "use_local_synchronization"):
                    return original(*args, **kwargs)
                asked = pick(args, kwargs, "group")
                group = ranks(c10d, asked)
                if group == []:  # this rank is no member: the call does nothing
                    return original(*args, **kwargs)
                tensors = pick(args, kwargs, payload) if payload else None
                if name == "all_gather" and in_place_of_nccl.is_uneven(pick(args, kwargs, "tensor_list")):
                    tensors = pick(args, kwargs, "tensor_list")  # the same on all ranks, as each has room for all
                begin(job, name, group, pick(args, kwargs, "op"), tensors)
                in_place_of_nccl.refuse(asked or c10d.GroupMember.WORLD, tensors)
                result = original(*args, **kwargs)
                nccl.finish(c10d, asked, result)
                trace.current.done()
                return result

        return recorded

    return make


def _waiting(original: Function) -> Function:
    """Record that the script waits for what it has begun: a message (`recv` does so itself), a call with `async_op`.

    Other threads may do so for as long as they like.
    """

    def wait(*args: object, **kwargs: object) -> object:
        if outermost.depth or threading.current_thread() is not threading.main_thread():
            return original(*args, **kwargs)
        with trace.waiting(is_over_after_error=False):
            return original(*args, **kwargs)

    return wait


def begin(job: Job, name: str, group: list[int] | None, op: object, arguments: object) -> None:
    """Record that a collective is about to start, and its tensors."""
    at = call_stack.current(job.user_files)
    number = next(_calls)
    payload = _payload(arguments)
    if trace.current is not None:
        trace.current.call(_head(name, group, str(op or ""), at, payload), number, payload.shape)
    executing.collective(number)
    placement.refuse(arguments)


# The common beginnings of the records of collectives, by their fields: a program has only few of these places.
_heads: dict[tuple[object, ...], str] = {}


def _head(
    name: str, group: list[int] | None, op: str, at: list[call_stack.StackFrame], payload: CollectiveTensors
) -> str:
    """The common beginning of the records of a collective."""
    key = (name, op, *at, payload.dtype, payload.device, None if group is None else tuple(group))
    known = _heads.get(key)
    if known is None:
        known = _heads[key] = trace.head(
            "call", name=name, group=group, op=op, at=at, dtype=_word(payload.dtype), device=_word(payload.device)
        )
    return known


def ranks(c10d: ModuleType, group: object) -> list[int] | None:
    """The members of a group; None for the world, an empty list if this rank is not a member."""
    if group is None or group is getattr(c10d.GroupMember, "WORLD", None):
        return None
    try:
        members = list(c10d.get_process_group_ranks(group))
    except Exception:  # no member, or not a group: the call itself will raise an error
        return []
    return None if len(members) == int(os.environ.get("WORLD_SIZE", "1")) else members


class CollectiveTensors(NamedTuple):
    """The tensors of a collective: for several, a list of shapes, and the data type and device of the first one."""

    dtype: object = None
    shape: list[int] | list[list[int]] | None = None
    device: object = None


_NOTHING = CollectiveTensors()


def _payload(arguments: object) -> CollectiveTensors:
    tensors = [each for each in listed(arguments) if is_tensor(each)]
    if not tensors or len(tensors) < len(listed(arguments)):
        return _NOTHING
    shapes = [list(each.shape) for each in tensors]
    shape = shapes if isinstance(arguments, (list, tuple)) else shapes[0]
    return CollectiveTensors(tensors[0].dtype, shape, tensors[0].device)


def _word(value: object) -> str | None:
    return None if value is None else str(value).removeprefix("torch.")


def _started(c10d: ModuleType, job: Job) -> Wrapper:
    """Start a process group with a timeout for its collectives, and with a backend that this machine can run."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def started(*args: object, **kwargs: object) -> object:
            kwargs.update(zip(pick.names, args, strict=False))
            asked = kwargs.get("backend")
            backend = _backend(job, asked)
            kwargs.update(backend=backend, timeout=_timeout(job, backend))
            if backend == "gloo":
                kwargs.pop("device_id", None)  # binds to one GPU, which gloo knows nothing of
            nccl.prepare(job, backend)
            with trace.synchronising():
                result = original(**kwargs)
            _keep(c10d._get_default_group(), backend, asked)
            trace.write("group", backend=backend, world_size=int(os.environ.get("WORLD_SIZE", "1")))
            imported.record()
            return result

        return started

    return make


def _backend(job: Job, asked: object) -> str | None:
    """The backend that was chosen; by default nccl if each process has a GPU of its own, otherwise gloo."""
    if job.backend != "auto":
        return job.backend
    import torch

    enough = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    named = str(asked) if asked else None
    return named if enough or "nccl" not in (named or "nccl").lower() else "gloo"


def _timeout(job: Job, backend: str | None) -> timedelta:
    """The timeout of a collective; practically none for gloo if a guard watches the ranks."""
    return FOR_EVER if job.guarded and backend == "gloo" else timedelta(seconds=job.timeout)


def _with_timeout(c10d: ModuleType, job: Job) -> Wrapper:
    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def grouped(*args: object, **kwargs: object) -> object:
            kwargs.update(zip(pick.names, args, strict=False))
            asked = kwargs.get("backend")
            backend = None if asked is None else _backend(job, asked)
            kwargs.update(backend=backend, timeout=_timeout(job, backend or c10d.get_backend()))
            group = original(**kwargs)
            if group is c10d.GroupMember.NON_GROUP_MEMBER:
                return group
            if asked is None:
                in_place_of_nccl.note_subgroup(group, c10d.GroupMember.WORLD)
            _keep(group, backend, asked)
            return group

        return grouped

    return make


def _keep(group: object, backend: str | None, asked: object) -> None:
    """Keep a group to the end, and remember what it stands for."""
    _groups.append(group)
    if backend == "gloo":
        in_place_of_nccl.note(group, None if asked is None else str(asked))


def _on_any_device(original: Function) -> Function:
    """A barrier that does not require a GPU per process.

    accelerate 1.15 asks for one by index (`PartialState.wait_for_everyone`).
    """

    def barrier(*args: object, **kwargs: object) -> object:
        import torch

        devices = kwargs.get("device_ids")
        if isinstance(devices, list) and devices and max(devices) >= torch.cuda.device_count():
            kwargs = {**kwargs, "device_ids": None}
        return original(*args, **kwargs)

    return barrier

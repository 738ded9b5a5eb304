"""gloo in place of nccl, for processes that share a GPU or have none: collectives take what nccl takes.

A program asks for nccl, which allows no two processes on one GPU, so gloo runs its collectives (`collectives.py`). It
would fail there, or pass, where nccl does not:

- nccl counts the elements of the tensors of `all_gather_into_tensor` and `reduce_scatter_tensor`; gloo compares shapes.
  accelerate gathers into a flat tensor (accelerate/utils/operations.py `_gpu_gather`).
- nccl writes results without autograd. gloo copies them from the CPU with operations that are recorded, which autograd
  refuses for parts of a tensor.
- nccl refuses tensors on the CPU. With a GPU, a tensor's device is real, so they are refused here too.
- nccl gathers tensors of different sizes with `all_gather`, by a broadcast from each rank; gloo refuses them.
- nccl has no `monitored_barrier` and no reductions of bits.

Sources: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp `allgather`, `_allgather_base`, `_reduce_scatter_base`,
`getNcclReduceOp`; ProcessGroupGloo.cpp `_allgather_base`, `AsyncAllgatherCUDAWork` (2.13).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, cast

from . import wrapping
from .tensors import listed
from .wrapping import Function, Wrapper

if TYPE_CHECKING:
    from torch import Tensor

# Functions that combine the tensors of all ranks in one, and the parameters that are such tensors.
_COUNTED = {
    "all_gather_into_tensor": ("output_tensor", "input_tensor"),
    "all_gather_single": ("output_tensor", "input_tensor"),
    "reduce_scatter_single": ("output", "input"),
    "reduce_scatter_tensor": ("output", "input"),
}
# Reductions that nccl does not have.
_OF_BITS = ("BAND", "BOR", "BXOR")
REFUSED = "No backend type associated with device type cpu"
# The groups that run on gloo in place of nccl; whether each would take a tensor on the CPU.
_takes_cpu: dict[object, bool] = {}


def note(group: object, asked: str | None) -> None:
    """Remember a group that runs on gloo. asked: the backend that the program asked for; None is torch's choice."""
    named = (asked or "cpu:gloo,cuda:nccl").lower()
    if "nccl" in named:
        _takes_cpu[group] = "gloo" in named


def note_subgroup(group: object, parent: object) -> None:
    """Remember a group that has the backend of another one."""
    if parent in _takes_cpu:
        _takes_cpu[group] = _takes_cpu[parent]


def wrapper(c10d: ModuleType, name: str) -> Wrapper:
    """Make a collective of tensors take what nccl takes."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def collective(*args: object, **kwargs: object) -> object:
            group = pick(args, kwargs, "group") or c10d.GroupMember.WORLD
            if group not in _takes_cpu:
                return original(*args, **kwargs)
            named = {**dict(zip(pick.names, args, strict=False)), **kwargs}
            named = {key: _detached(value) for key, value in named.items()}
            named.update(_flat(named, _COUNTED.get(name, ())))
            _refuse_for_nccl(name, group, str(named.get("op", "")).rpartition(".")[2])
            if name == "all_gather" and is_uneven(named.get("tensor_list")):
                return _by_broadcasts(c10d, group, named)
            return original(**named)

        return collective

    return make


def is_uneven(tensors: object) -> bool:
    """Whether tensors that are gathered differ in size from each other."""
    return isinstance(tensors, list) and len({getattr(each, "shape", None) for each in tensors}) > 1


def _by_broadcasts(c10d: ModuleType, group: object, named: Mapping[str, object]) -> object:
    """Gather tensors of different sizes, as nccl does; the work is that of the last broadcast."""
    tensors, own = cast("list[Tensor]", named["tensor_list"]), cast("Tensor", named["tensor"])
    works = []
    for place, each in enumerate(tensors):
        if place == c10d.get_rank(group):
            each.copy_(own)
        works.append(c10d.broadcast(each, c10d.get_global_rank(group, place), group=group, async_op=True))
    for work in works[: -1 if named.get("async_op") else None]:
        work.wait()
    return works[-1] if named.get("async_op") else None


def _refuse_for_nccl(name: str, group: object, reduction: str) -> None:
    """Raise what torch raises for collectives that nccl does not have.

    Raises:
        ValueError: nccl has no such collective.
    """
    if _takes_cpu.get(group, True):
        return
    if name == "monitored_barrier":
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    if reduction in _OF_BITS:
        raise ValueError(f"Cannot use ReduceOp.{reduction} with NCCL")


def refuse(group: object, tensors: object) -> None:
    """Raise what nccl raises for a tensor on the CPU, where there is a GPU that it could be on.

    Collectives of objects, which torch itself puts on the CPU for gloo, are not asked about.

    Raises:
        RuntimeError: a tensor is on the CPU.
    """
    if _takes_cpu.get(group, True) or not any(_is_on_cpu(each) for each in listed(tensors)):
        return
    import torch

    if torch.cuda.device_count():
        raise RuntimeError(REFUSED)


def _is_on_cpu(value: object) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _detached(value: object) -> object:
    """A tensor, or the tensors of a list, without their history."""
    import torch

    if isinstance(value, list):
        return list(map(_detached, value))
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def _flat(arguments: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    """The tensors of these names in one dimension, as nccl only counts their elements."""
    import torch

    found = {name: each for name in names if isinstance(each := arguments.get(name), torch.Tensor)}
    if any(not each.is_contiguous() for each in found.values()):
        return {}
    return {name: each.view(-1) for name, each in found.items()}

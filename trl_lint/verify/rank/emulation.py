"""Several GPUs for one process, on a machine without GPUs: torch's own `nn.DataParallel`, on the CPU.

DataParallel handles arguments, replicas and outputs with its own code (`scatter_kwargs`, `replicate`, `gather`). Only
the primitives below it that move tensors between GPUs are replaced, by what they compute: chunks, copies,
concatenation, and one replica after the other. Trainer sees this number of GPUs, and wraps the model as it would.

Sources: torch/nn/parallel/{data_parallel,scatter_gather,replicate,_functions,comm}.py of torch 2.13.0;
transformers/training_args.py `TrainingArguments.n_gpu`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from .imports import Patch
from .job import Job
from .wrapping import Function

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import DataParallel, Module


def patches(job: Job) -> Mapping[str, Patch]:
    """The patches by module; none if no GPUs are emulated."""
    if job.gpus < 2:
        return {}
    return {
        "torch.cuda": lambda module: setattr(module, "device_count", lambda: job.gpus),
        "torch.nn.parallel.comm": _patch_comm,
        "torch.nn.parallel._functions": _patch_functions,
        "torch.nn.parallel.data_parallel": lambda module: _patch_data_parallel(module, job.gpus),
        "transformers.training_args": lambda module: _patch_arguments(module, job.gpus),
    }


class _Scatter:
    @staticmethod
    def apply(devices: Sequence[int], sizes: Sequence[int] | None, dim: int, tensor: Tensor) -> Sequence[Tensor]:
        import torch

        return tensor.chunk(len(devices), dim) if sizes is None else torch.split(tensor, list(sizes), dim)


class _Gather:
    @staticmethod
    def apply(device: int, dim: int, *tensors: Tensor) -> Tensor:
        import torch

        if all(each.dim() == 0 for each in tensors) and dim == 0:
            return torch.stack(tensors)
        return torch.cat(tensors, dim)


class _Broadcast:
    @staticmethod
    def apply(devices: Sequence[int], *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(each.clone() for _ in devices for each in tensors)


def _patch_functions(module: ModuleType) -> None:
    vars(module).update(Scatter=_Scatter, Gather=_Gather, Broadcast=_Broadcast)


def _patch_comm(module: ModuleType) -> None:
    def broadcast_coalesced(
        tensors: Sequence[Tensor], devices: Sequence[int], buffer_size: int = 0
    ) -> list[list[Tensor]]:
        return [[each.clone() for each in tensors] for _ in devices]

    vars(module).update(broadcast_coalesced=broadcast_coalesced)


def _patch_data_parallel(module: ModuleType, gpus: int) -> None:
    import torch

    original = module.DataParallel.__init__

    def constructed(
        self: DataParallel[Module],
        wrapped: Module,
        device_ids: Sequence[int] | None = None,
        output_device: object = None,
        dim: int = 0,
    ) -> None:
        original(self, wrapped, dim=dim)
        self.device_ids = list(range(gpus)) if device_ids is None else list(device_ids)
        self.dim, self.output_device, self.src_device_obj = dim, 0, torch.device("cpu")

    def parallel_apply(
        self: DataParallel[Module],
        replicas: Sequence[Function],
        inputs: Sequence[Sequence[object]],
        kwargs: Sequence[Mapping[str, object]],
    ) -> list[object]:
        return [replica(*args, **named) for replica, args, named in zip(replicas, inputs, kwargs, strict=True)]

    module.DataParallel.__init__ = constructed
    module.DataParallel.parallel_apply = parallel_apply


def _patch_arguments(module: ModuleType, gpus: int) -> None:
    module.TrainingArguments.n_gpu = property(lambda self: gpus)

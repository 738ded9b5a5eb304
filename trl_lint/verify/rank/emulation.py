"""Several GPUs for one process, where there are none: torch's own `nn.DataParallel`, on the CPU.

What DataParallel does with arguments, replicas and outputs is its own code (`scatter_kwargs`, `replicate`, `gather`).
Replaced are the primitives below it that move tensors between GPUs, by what they compute: chunks, copies,
concatenation, and one replica after the other. Trainer is told of so many GPUs, and wraps the model as it would.

Sources: torch/nn/parallel/{data_parallel,scatter_gather,replicate,_functions,comm}.py of torch 2.13.0;
transformers/training_args.py `TrainingArguments.n_gpu`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .job import Job


def patches(job: Job) -> Mapping[str, Callable[[Any], None]]:
    """By module, what to change in it; nothing where no GPUs are emulated."""
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
    def apply(devices: Sequence[int], sizes: Sequence[int] | None, dim: int, tensor: Any) -> tuple[Any, ...]:
        parts: tuple[Any, ...] = tensor.chunk(len(devices), dim) if sizes is None else tensor.split(list(sizes), dim)
        return parts


class _Gather:
    @staticmethod
    def apply(device: int, dim: int, *tensors: Any) -> Any:
        import torch

        if all(each.dim() == 0 for each in tensors) and dim == 0:
            return torch.stack(tensors)
        return torch.cat(tensors, dim)


class _Broadcast:
    @staticmethod
    def apply(devices: Sequence[int], *tensors: Any) -> tuple[Any, ...]:
        return tuple(each.clone() for _ in devices for each in tensors)


def _patch_functions(module: Any) -> None:
    module.Scatter, module.Gather, module.Broadcast = _Scatter, _Gather, _Broadcast


def _patch_comm(module: Any) -> None:
    def broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[int], buffer_size: int = 0) -> list[list[Any]]:
        return [[each.clone() for each in tensors] for _ in devices]

    module.broadcast_coalesced = broadcast_coalesced


def _patch_data_parallel(module: Any, gpus: int) -> None:
    import torch

    original = module.DataParallel.__init__

    def constructed(self: Any, wrapped: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        original(self, wrapped, dim=dim)
        self.device_ids = list(range(gpus)) if device_ids is None else list(device_ids)
        self.dim, self.output_device, self.src_device_obj = dim, 0, torch.device("cpu")

    def parallel_apply(self: Any, replicas: Any, inputs: Any, kwargs: Any) -> list[Any]:
        return [replica(*args, **named) for replica, args, named in zip(replicas, inputs, kwargs, strict=True)]

    module.DataParallel.__init__ = constructed
    module.DataParallel.parallel_apply = parallel_apply


def _patch_arguments(module: Any, gpus: int) -> None:
    module.TrainingArguments.n_gpu = property(lambda self: gpus)

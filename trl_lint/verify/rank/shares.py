"""The rows that each rank trains on: a digest of each row in a forward of DDP, for the first batches.

DDP averages the gradients of its ranks, so each should see different rows. Whether they do is visible in the inputs of
the model, whatever distributed them: a sampler, a stream, or nothing.

Source: torch/nn/parallel/distributed.py `DistributedDataParallel.forward` of torch 2.13.0.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from . import dealing, trace, wrapping
from .wrapping import Function

if TYPE_CHECKING:
    from torch import Tensor

# The number of batches that are recorded, and the largest number of bytes in one.
MAX_BATCHES = 24
MAX_BYTES = 1 << 24
_seen = 0


def patch_ddp(module: ModuleType) -> None:
    """Record the rows that are trained on."""

    def make(original: Function) -> Function:
        def forward(self: object, *args: object, **kwargs: object) -> object:
            _record(self, args, kwargs)
            return original(self, *args, **kwargs)

        return forward

    wrapping.replace(module.DistributedDataParallel, "forward", make)


def _record(ddp: object, args: Iterable[object], kwargs: Mapping[str, object]) -> None:
    global _seen
    if _seen >= MAX_BATCHES or trace.current is None or not _trains(ddp):
        return
    _seen += 1
    with contextlib.suppress(Exception):  # for tensors that can't be read on the host
        rows = _digests([*_tensors(args), *_tensors(kwargs.values())])
        trace.write("share", rows=rows, passes=dealing.passes())


def _trains(ddp: object) -> bool:
    """Whether a forward is a training forward of a DDP over all ranks."""
    import torch
    import torch.distributed as dist

    is_over_all = dist.get_world_size(getattr(ddp, "process_group", None)) == dist.get_world_size()
    return torch.is_grad_enabled() and bool(getattr(ddp, "training", False)) and is_over_all


def _tensors(values: Iterable[object]) -> Iterator[Tensor]:
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dim() > 0:
                yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(value, Mapping):
            yield from _tensors(value.values())


def _digests(tensors: list[Tensor]) -> list[str] | None:
    """A digest of each row of a batch, over all tensors with this number of rows; None if they are too large."""
    if not tensors or sum(each.numel() * each.element_size() for each in tensors) > MAX_BYTES:
        return None
    rows = len(tensors[0])
    hosts = [each.detach().cpu().contiguous().reshape(rows, -1) for each in tensors if len(each) == rows]
    found = []
    for row in range(rows):
        digest = hashlib.blake2b(digest_size=8)
        for each in hosts:
            digest.update(_bytes(each[row]))
        found.append(digest.hexdigest())
    return found


def _bytes(row: Tensor) -> bytes:
    """The content of a row without padding: repetitions of one value at either end."""
    import torch

    if not row.is_floating_point() and len(row) > 1:
        others = torch.nonzero(row[1:] != row[:-1]).flatten()
        row = row[int(others[0]) : int(others[-1]) + 2] if len(others) else row[:1]
    return bytes(row.contiguous().view(torch.uint8).numpy())

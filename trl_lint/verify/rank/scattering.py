"""What `nn.DataParallel` loses of a batch when it distributes it to its GPUs.

Its `scatter` zips the chunks of all arguments, so that an argument with fewer chunks than GPUs (Trainer's
`num_items_in_batch`, a tensor of one element) leaves GPUs without a chunk, silently.

Sources: torch/nn/parallel/scatter_gather.py of torch 2.13.0; transformers/trainer.py `compute_loss` of 4.51.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TypeAlias

from . import trace
from .tensors import TensorLike
from .wrapping import Function, replace

# The result of `scatter`: by GPU, the chunks of the positional arguments, and those of the keyword arguments.
Pieces: TypeAlias = tuple[Sequence[Sequence[object]], Sequence[Mapping[str, object]]]


def patch_data_parallel(module: ModuleType) -> None:
    """Record the first batch of which rows are lost."""
    is_recorded = False

    def make(original: Callable[..., Pieces]) -> Function:
        def scatter(
            self: object, inputs: Sequence[object], kwargs: Mapping[str, object] | None, device_ids: object
        ) -> Pieces:
            nonlocal is_recorded
            scattered = original(self, inputs, kwargs, device_ids)
            given = _rows(inputs, kwargs or {})
            kept = sum(_rows(*pieces) for pieces in zip(*scattered, strict=False))
            if kept < given and not is_recorded:
                is_recorded = True
                trace.write("scattered", given=given, kept=kept)
            return scattered

        return scatter

    replace(module.DataParallel, "scatter", make)


def _rows(inputs: Sequence[object], kwargs: Mapping[str, object]) -> int:
    """The rows of a batch: the first dimension of the tensors with the most dimensions."""
    tensors = [each for each in (*inputs, *kwargs.values()) if isinstance(each, TensorLike) and each.shape]
    return max(((len(each.shape), each.shape[0]) for each in tensors), default=(0, 0))[1]

"""What `nn.DataParallel` loses of a batch when it hands the pieces to its GPUs.

Its `scatter` zips the pieces of all arguments, so that one of them with fewer pieces than there are GPUs (Trainer's
`num_items_in_batch`, a tensor of one element) leaves GPUs without a piece, and nothing is said of it.

Sources: torch/nn/parallel/scatter_gather.py of torch 2.13.0; transformers/trainer.py `compute_loss` of 4.51.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TypeAlias

from . import trace
from .tensors import TensorLike
from .wrapping import Function, replace

# What `scatter` returns: by GPU, the pieces of the arguments, and those of the arguments that have names.
Pieces: TypeAlias = tuple[Sequence[Sequence[object]], Sequence[Mapping[str, object]]]


def patch_data_parallel(module: ModuleType) -> None:
    """Tell of the first batch of which rows are lost."""
    told = False

    def make(original: Callable[..., Pieces]) -> Function:
        def scatter(
            self: object, inputs: Sequence[object], kwargs: Mapping[str, object] | None, device_ids: object
        ) -> Pieces:
            nonlocal told
            scattered = original(self, inputs, kwargs, device_ids)
            given = _rows(inputs, kwargs or {})
            kept = sum(_rows(*pieces) for pieces in zip(*scattered, strict=False))
            if kept < given and not told:
                told = True
                trace.write("scattered", given=given, kept=kept)
            return scattered

        return scatter

    replace(module.DataParallel, "scatter", make)


def _rows(inputs: Sequence[object], kwargs: Mapping[str, object]) -> int:
    """The rows of a batch: of its tensors, those with the most dimensions have it first."""
    tensors = [each for each in (*inputs, *kwargs.values()) if isinstance(each, TensorLike) and each.shape]
    return max(((len(each.shape), each.shape[0]) for each in tensors), default=(0, 0))[1]

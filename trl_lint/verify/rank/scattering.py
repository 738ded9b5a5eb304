"""What `nn.DataParallel` loses of a batch when it hands the pieces to its GPUs.

Its `scatter` zips the pieces of all arguments, so that one of them with fewer pieces than there are GPUs (Trainer's
`num_items_in_batch`, a tensor of one element) leaves GPUs without a piece, and nothing is said of it.

Sources: torch/nn/parallel/scatter_gather.py of torch 2.13.0; transformers/trainer.py `compute_loss` of 4.51.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import trace
from .wrapping import replace


def patch_data_parallel(module: Any) -> None:
    """Tell of the first batch of which rows are lost."""
    told = False

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def scatter(self: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any] | None, device_ids: Any) -> Any:
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


def _rows(inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """The rows of a batch: of its tensors, those with the most dimensions have it first."""
    tensors = [each for each in (*inputs, *kwargs.values()) if getattr(each, "shape", ())]
    return max(((len(each.shape), each.shape[0]) for each in tensors), default=(0, 0))[1]

"""More processes than GPUs: processes without a GPU of their own share one.

A script selects the GPU of its process with `torch.cuda.set_device(LOCAL_RANK)`. Without a GPU of that number it would
fail there, which says nothing about the script; accelerate takes the number modulo the number of GPUs
(accelerate/state.py `PartialState.set_device`), and so does this module. Code that names a GPU without selecting it
first (`torch.device("cuda", LOCAL_RANK)`) still fails.
"""

from __future__ import annotations

import os
from types import ModuleType

from . import wrapping
from .wrapping import Function


def patch_cuda(module: ModuleType) -> None:
    """Make `torch.cuda.set_device` wrap around, if this machine has fewer GPUs than processes."""

    def make(original: Function) -> Function:
        def picked(device: object) -> object:
            return original(shared(device, module.device_count()))

        return picked

    wrapping.replace(module, "set_device", make)


def shared(device: object, gpus: int) -> object:
    """The GPU to select: a different one only if the requested one is a process's and does not exist."""
    number = _number(device)
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if number is None or not 0 < gpus <= number < processes:
        return device
    return number % gpus


def _number(device: object) -> int | None:
    """The number in `1`, `"cuda:1"` or `torch.device("cuda", 1)`."""
    if isinstance(device, int):
        return device
    name, _, number = str(device).partition(":")
    return int(number) if name == "cuda" and number.isdecimal() else None

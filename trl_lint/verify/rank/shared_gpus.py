"""More processes than GPUs: those that have none of their own share one.

`torch.cuda.set_device(LOCAL_RANK)` is how a script picks the GPU of its process. Where there is none of that number it
would end there, which tells nothing of the script; accelerate counts round in that case
(accelerate/state.py `PartialState.set_device`), and so is done here. What names a GPU without picking it first
(`torch.device("cuda", LOCAL_RANK)`) still fails.
"""

from __future__ import annotations

import os
from types import ModuleType

from . import wrapping
from .wrapping import Function


def patch_cuda(module: ModuleType) -> None:
    """Have `torch.cuda.set_device` count round, where this machine has fewer GPUs than processes."""

    def make(original: Function) -> Function:
        def picked(device: object) -> object:
            return original(shared(device, module.device_count()))

        return picked

    wrapping.replace(module, "set_device", make)


def shared(device: object, gpus: int) -> object:
    """The GPU to pick, of so many: another one only where this one is that of a process and is not there."""
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

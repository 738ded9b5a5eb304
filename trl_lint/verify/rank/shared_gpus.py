"""More processes than GPUs: processes without a GPU of their own share one.

A program names the GPU of its process by LOCAL_RANK: in `torch.cuda.set_device`, in `DistributedDataParallel(model,
device_ids=[LOCAL_RANK])`, as accelerate does for itself (accelerate/accelerator.py `prepare_model`), in
`model.to(f"cuda:{LOCAL_RANK}")`. Without a GPU of that number it would fail there, which says nothing about the
program. So a number that is a process's, but no GPU's, is taken modulo the number of GPUs, as accelerate does where it
selects one (accelerate/state.py `PartialState.set_device`).

Numbers of GPUs reach torch in three ways: its functions of `torch.cuda` and its wrappers all ask `_get_device_index`
(torch/_utils.py, torch/cuda/_utils.py), `torch.load` passes `map_location` on, and operations on tensors are seen by a
function mode (torch/overrides.py `TorchFunctionMode`), which runs only where GPUs are shared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from types import ModuleType
from typing import TypeAlias

from . import wrapping
from .imports import Patch
from .wrapping import Function

Arguments: TypeAlias = tuple[object, ...]
Keywords: TypeAlias = Mapping[str, object]
# Methods of tensors whose first argument may be the number of a GPU.
_MOVES = frozenset({"to", "cuda"})
# Never closed: it ends with the process.
_sharing = ExitStack()


def patches() -> Mapping[str, Patch]:
    """The patches by module."""
    return {
        "torch": _share_tensors,
        "torch._utils": patch_index,
        "torch.cuda._utils": patch_index,
        "torch.serialization": patch_load,
    }


def patch_index(module: ModuleType) -> None:
    """Make what torch understands as the number of a GPU wrap around."""

    def make(original: Function) -> Function:
        def index(*args: object, **kwargs: object) -> object:
            return _picked(original(*args, **kwargs))

        return index

    wrapping.replace(module, "_get_device_index", make)


def patch_load(module: ModuleType) -> None:
    """Make `torch.load(…, map_location=…)` wrap around; a dictionary names the GPUs by those that were saved."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def load(*args: object, **kwargs: object) -> object:
            kwargs.update(zip(pick.names, args, strict=False))
            where = kwargs.get("map_location")
            if isinstance(where, dict):
                kwargs["map_location"] = {saved: _picked(device) for saved, device in where.items()}
            elif where is not None:
                kwargs["map_location"] = _picked(where)
            return original(**kwargs)

        return load

    wrapping.replace(module, "load", make)


def _share_tensors(module: ModuleType) -> None:
    """Redirect operations on tensors, if there are fewer GPUs than processes."""
    if 0 < _gpus() < _processes():
        _sharing.enter_context(redirecting())


def redirecting() -> AbstractContextManager[object]:
    """A function mode in which operations that name a GPU which is not there get the shared one."""
    from torch.overrides import TorchFunctionMode

    class Sharing(TorchFunctionMode):
        def __torch_function__(
            self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
        ) -> object:
            args, kwargs = redirected(getattr(func, "__name__", ""), args, kwargs or {})
            return func(*args, **kwargs)

    return Sharing()


def redirected(name: str, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords]:
    """The arguments of an operation of torch, with GPUs that are there."""
    if name in _MOVES:
        args = (*args[:1], *map(_picked, args[1:]))
    if "device" in kwargs:
        kwargs = {**kwargs, "device": _picked(kwargs["device"])}
    return args, kwargs


def _picked(device: object) -> object:
    """The GPU to use; anything else stays as it is."""
    return shared(device, _gpus()) if _number(device) else device  # the first is always there


def shared(device: object, gpus: int) -> object:
    """The GPU to use, named in the same way: a different one only if that asked for is a process's and not there."""
    number = _number(device)
    if number is None or not 0 < gpus <= number < _processes():
        return device
    return number % gpus if isinstance(device, int) else f"cuda:{number % gpus}"


def _number(device: object) -> int | None:
    """The number in `1`, `"cuda:1"` or `torch.device("cuda", 1)`; None for anything else, such as a flag or a type."""
    if isinstance(device, bool):
        return None
    if isinstance(device, int):
        return device
    name, _, number = str(device).partition(":") if isinstance(device, str) or is_device(device) else ("", "", "")
    return int(number) if name == "cuda" and number.isdecimal() else None


def is_device(value: object) -> bool:
    """Whether a value is a `torch.device`, without importing torch."""
    return type(value).__name__ == "device" and hasattr(value, "index")


def _processes() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()

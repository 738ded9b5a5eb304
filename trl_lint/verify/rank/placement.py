"""A separate device for each process, without GPUs: emulated on the CPU, by tracking which tensors would be on it.

`PartialState.device`, which accelerate and Trainer use to place models and batches, becomes `cpu:0`, which torch treats
as the CPU. A function mode sees every call of torch's Python interface and marks, by torch's own rules, which tensors
would be on that device: those created on or moved to it, and those computed from such tensors. A collective of tensors
that would not be on it raises what nccl raises. Nothing else changes: all numbers are those of the CPU. This is an
emulation, and reported as one.

Sources: torch/overrides.py `TorchFunctionMode`; torch/csrc/distributed/c10d/ProcessGroup.hpp `getBackend`;
accelerate/state.py `PartialState`; accelerate/utils/random.py `synchronize_rng_state`, which on the CPU broadcasts the
generator's state from where it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from . import in_place_of_nccl
from .imports import Patch
from .job import Job
from .tensors import listed
from .wrapping import Function

if TYPE_CHECKING:
    import torch

# Arguments of a function of torch.
Arguments: TypeAlias = tuple[object, ...]
Keywords: TypeAlias = Mapping[str, object]
OWN = "cpu:0"
REFUSED = f"{in_place_of_nccl.REFUSED} (the process's own device is emulated)"
# This file broadcasts the states of generators, which nccl would find on the device.
_RANDOM = os.path.join("accelerate", "utils", "random.py")
_MARK = "_on_own_device"
# Methods that move a tensor off the device, and those that may.
_LEAVES = frozenset({"cpu", "numpy"})
_MOVES = frozenset({"to", "cuda"})
_active = False
# Never closed: it ends with the process.
_emulation = ExitStack()


class HasDevice(Protocol):
    """accelerate's `PartialState`."""

    device: torch.device | None


def patches(job: Job) -> Mapping[str, Patch]:
    """The patches by module; none if no devices are emulated."""
    if not job.devices:
        return {}
    return {"accelerate.state": _patch_state}


def is_missing(tensors: object) -> bool:
    """Whether a collective gets a tensor that is known not to be on the process's own device."""
    return _active and any(_is_on_own_device(each) is False for each in listed(tensors))


def refuse(tensors: object) -> None:
    """Raise what nccl raises for a tensor on the CPU.

    Raises:
        RuntimeError: the tensor would not be on the process's own device.
    """
    if is_missing(tensors) and not _comes_from(_RANDOM):
        raise RuntimeError(REFUSED)


def _comes_from(file: str) -> bool:
    """Whether the current call comes from a file."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.endswith(file):
        frame = frame.f_back
    return frame is not None


def _start() -> None:
    """Track all calls of torch from now on."""
    global _active
    from torch.overrides import TorchFunctionMode

    class Placement(TorchFunctionMode):
        def __torch_function__(
            self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
        ) -> object:
            kwargs = kwargs or {}
            return _placed(func, args, kwargs, func(*args, **kwargs))

    _active = True
    _emulation.enter_context(Placement())


def _patch_state(module: ModuleType) -> None:
    import torch

    original = module.PartialState.__init__

    def constructed(self: HasDevice, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        if self.device is not None and self.device.type == "cpu":
            self.device = torch.device(OWN)

    module.PartialState.__init__ = constructed
    _start()


def _placed(func: Function, args: Arguments, kwargs: Keywords, result: object) -> object:
    """The result of a call, marked if it is known whether it would be on the process's own device."""
    import torch

    name = getattr(func, "__name__", "")
    if name == "__get__" and args and _is_on_own_device(args[0]) is not False and isinstance(result, torch.device):
        return torch.device(OWN) if result.type == "cpu" and isinstance(args[0], torch.Tensor) else result
    if name == "__set__" and len(args) > 1:
        _mark(args[0], _common_device(args[1:]))
        return result
    is_requested = _requests_own_device(name, args, kwargs)
    inside = is_requested if is_requested is not None else _common_device(_flat((args, tuple(kwargs.values()))))
    for each in _flat((result,)):
        if not isinstance(each, torch.Tensor) or _is_on_own_device(each) is inside:
            continue
        if any(each is other for other in _flat((args,))):
            if inside or name not in (_LEAVES | _MOVES):
                _mark(each, inside or _is_on_own_device(each))
                continue
            with overrides_off():
                return _marked(each.view_as(each), inside)  # the same numbers in a tensor off the device
        _mark(each, inside)
    return result


def _common_device(values: Iterable[object]) -> bool | None:
    """Whether the result of some values is on the device: if any tensor is, or else if all are known not to be."""
    known = {_is_on_own_device(each) for each in values if hasattr(each, "untyped_storage")}
    return True if True in known else None if None in known else False


def overrides_off() -> AbstractContextManager[None]:
    import torch

    return torch._C.DisableTorchFunction()


def _requests_own_device(name: str, args: Arguments, kwargs: Keywords) -> bool | None:
    """Whether a call requests the process's own device; None if it requests no device."""
    import torch

    if name in _LEAVES:
        return False
    device = kwargs.get("device")
    if device is None and name == "to" and len(args) > 1:
        device = next((each for each in args[1:] if isinstance(each, (str, torch.device, torch.Tensor))), None)
    if device is None:
        return None
    return _is_on_own_device(device) if isinstance(device, torch.Tensor) else str(device) == OWN


def _is_on_own_device(tensor: object) -> bool | None:
    """Whether a tensor would be on the process's own device; None if its creation was not seen."""
    found: bool | None = getattr(tensor, _MARK, None)
    return found


def _mark(tensor: object, inside: bool | None) -> None:
    import torch

    if isinstance(tensor, torch.Tensor):
        setattr(tensor, _MARK, inside)


def _marked(tensor: torch.Tensor, inside: bool | None) -> torch.Tensor:
    _mark(tensor, inside)
    return tensor


def _flat(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif isinstance(value, dict):
            yield from _flat(tuple(value.values()))
        else:
            yield value

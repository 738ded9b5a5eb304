"""Devices: where a tensor is created, where it is moved, and how operations and joins change that.

    x.cpu()                    "" -> cpu
    x.to("cuda:1")             cpu -> cuda:1           one GPU for all processes
    x.to(accelerator.device)   cpu -> ""               the process's own device
    torch.tensor(3)            cpu

The transfer of an operation is the column `device` of its row in `knowledge/torch_ops.py`.
Only certain facts count as being on the CPU or on one fixed device; otherwise a tensor may be on the process's own
device, which is correct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from trl_lint.analysis.transfer.tensors.operands import SEQUENCES, unless_none
from trl_lint.domain import ranks
from trl_lint.domain.constants import OPEN
from trl_lint.domain.devices import BY_RANK, GLOBAL_RANK, MAYBE_CPU, OF_RANK, Device
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import DeviceValue
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.schema import OWN_DEVICE
from trl_lint.knowledge.torch_ops import DeviceTransfer, Operation

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments

_FIXED = re.compile(r"(?:cuda|xpu|npu|hpu|mlu|musa|mps):\d+")
# The text of a device whose index is not a constant.
_INDEXED = re.compile(rf"(?:cuda|xpu|npu|hpu|mlu|musa):{WILDCARD}")
_NUMBERS = frozenset({Kind.NUMBER, Kind.NUMBER_LIST, Kind.STRING})


def named(value: Value) -> str:
    """The device that a value names as a device argument: "" for the process's own or an unknown one."""
    const = value.const
    if value.kind is Kind.NONE:
        return "cpu"  # the default device
    if isinstance(const, str):
        return const if const.startswith("cpu") or _FIXED.fullmatch(const) else ""
    if type(const) is int:
        return f"cuda:{const}"
    return "" if value.device in OF_RANK else value.device


def device(args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """`torch.device(…)`."""
    kind = keywords.get("type", args[0] if args else None)
    index = unless_none(keywords.get("index", args[1] if len(args) > 1 else None))
    if any(each is not None and each.rank.state is not State.SAME for each in (kind, index)):
        return OWN_DEVICE
    if kind is None or (index is not None and not isinstance(kind.const, str)):
        return DeviceValue(ranks.SAME)
    if index is None:
        return DeviceValue(ranks.SAME, device=named(kind))
    return DeviceValue(ranks.SAME, device=f"{kind.const}:{index.const}" if type(index.const) is int else "")


def created(row: Operation, name: str, args: Arguments, value: Value) -> Value:
    """The result of a function of torch, with the device where it is created."""
    if name == "torch.device":
        return device(args.positional, args.keywords)
    if row.device not in _CREATING:
        return value
    device_argument = args.keywords.get("device")
    if device_argument is not None:
        return value.replace(device=named(device_argument))
    source = next(iter(args.all()), None)
    if args.double is not None or args.star is not None or source is None:
        return value.replace(device="")
    if row.device is DeviceTransfer.CREATED_LIKE and source.kind not in _HOST_KINDS:
        return value.replace(device=source.device if source.kind is Kind.TENSOR else "")
    return value.replace(device="cpu")


_CREATING = frozenset({DeviceTransfer.CREATED, DeviceTransfer.CREATED_LIKE})
# Kinds that are certainly no tensor: from these, and from any list, a new tensor is created on the CPU.
_HOST_KINDS = _NUMBERS | SEQUENCES


def moved(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> str:
    """The device of a tensor after a method that may move it."""
    fixed = _FIXED_PLACES.get(row.device)
    if fixed is not None:
        return fixed
    move = _MOVES.get(row.device)
    return receiver.device if move is None else move(receiver, args, keywords)


def _to_argument(receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> str:
    target = _target(args, keywords)
    if target is None:
        return receiver.device if "dtype" in keywords else ""
    if target.kind is Kind.NONE:
        return ""  # the local process number, which is None if there is only one process
    return receiver.device if target.kind is Kind.MODULE else named(target)  # a dtype moves nothing


def _like_other(receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> str:
    target = _target(args, keywords)
    return named(target) if target is not None and target.kind is Kind.TENSOR else ""


def _to_gpu(receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> str:
    target = args[0] if args else keywords.get("device")
    return "" if target is None or target.kind is Kind.NONE else named(target)


def _target(args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    return keywords.get("device", args[0] if args else None)


_FIXED_PLACES: Mapping[DeviceTransfer, str] = {
    DeviceTransfer.CPU: "cpu",
    DeviceTransfer.HOST: "host",
    DeviceTransfer.ACCELERATOR: "",
}
_MOVES: Mapping[DeviceTransfer, Callable[[Value, Sequence[Value], Mapping[str, Value]], str]] = {
    DeviceTransfer.ARGUMENT: _to_argument,
    DeviceTransfer.LIKE_OTHER: _like_other,
    DeviceTransfer.CUDA: _to_gpu,
}


def formatted(values: Sequence[Value], text: Value) -> str:
    """The device of a text with these parts: it contains a rank if one of them is one, and may name a device by it."""
    place = next((value.device for value in values if value.device == GLOBAL_RANK), "")
    if place and isinstance(text.const, str) and _INDEXED.fullmatch(text.const):
        return Device(BY_RANK, getattr(place, "provenance", None))
    return place


def may_be_cpu(value: Value) -> bool:
    """Whether a tensor is on the CPU, on at least one path to this point."""
    return value.device in ("cpu", MAYBE_CPU)


def is_known(value: Value) -> bool:
    """Whether a tensor is certainly on the CPU, or on one device that is the same for all processes."""
    place = value.device
    return bool(place) and (place == "cpu" or _FIXED.fullmatch(place) is not None) and value.const in OPEN

"""Devices: what put a tensor where it is, and where the rank in the whole job is taken for a device's index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trl_lint.analysis.events import DeviceChosen
from trl_lint.domain.devices import GLOBAL_RANK, HOST, Device
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import ContainerValue, TupleValue
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import torch as table

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# The text of a device whose index is not a constant.
_INDEXED = re.compile(rf"(?:cuda|xpu|npu|hpu|mlu|musa):{WILDCARD}")


def located(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """The value, with `node` as what put it where it is."""
    place = value.device
    if not place or place == HOST or getattr(place, "why", None) is not None:
        return value
    text = "it is made, or moved to, the CPU here" if place.startswith("cpu") else f"it goes to `{place}` here"
    return value.but(device=Device(place, frame.step(node, text)))


def index_chosen(frame: Frame, value: Value, node: cst.CSTNode, *, device_asked: bool = True) -> None:
    """Tell the rules if a value that is about to say on which device something is, is the rank in the whole job."""
    if value.device != GLOBAL_RANK or not device_asked:
        return
    if value.kind is Kind.STRING and not (isinstance(value.const, str) and _INDEXED.fullmatch(value.const)):
        return
    why = getattr(value.device, "why", None)
    frame.emit(DeviceChosen, node, index=value, why=why)


def indices_chosen(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """Look at what a call is given where it asks for devices."""
    own = name.rpartition(".")[2]
    for key in ("device", "device_map", "device_ids", "output_device"):
        value = args.keywords.get(key)
        if value is not None:
            for each in _elements(frame, value):
                index_chosen(frame, each, node)
    if own in table.TAKE_A_DEVICE:
        for value in args.positional[: 2 if own == "device" else 1]:
            index_chosen(frame, value, node)


def _elements(frame: Frame, value: Value) -> list[Value]:
    if isinstance(value, ContainerValue):
        return [each for cell in frame.memory.cells(value) for each in cell.values()]
    return list(value.items) if isinstance(value, TupleValue) else [value]

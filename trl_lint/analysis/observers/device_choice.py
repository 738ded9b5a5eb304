"""Devices: where the global rank is used as the index of a device.

Events of a program:

    torch.cuda.set_device(dist.get_rank())    DeviceChosen: on the second node there is no such device
    x.to(f"cuda:{rank}")                      DeviceChosen
    torch.load(path, map_location={"cuda:0": "cuda:%d" % rank})    DeviceChosen
    return f"cuda:{rank}"                     DeviceChosen
    torch.cuda.set_device(local_rank)         none
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.events import DeviceChosen
from trl_lint.analysis.program.syntax import names_in
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.devices import BY_RANK, GLOBAL_RANK
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.backends import COUNTS_GPUS

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control

_KEYWORDS = ("device", "device_map", "device_ids", "map_location", "output_device")


class DeviceChoice(Observer["Frame"]):
    emits = frozenset({DeviceChosen})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _check_keywords(frame, args, node)
        _check_positions(frame, name.rpartition(".")[2], args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in table.TAKE_A_DEVICE:
            _check_keywords(frame, args, node)
            _check_positions(frame, name, args, node)

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        _check_keywords(frame, args, node)

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        """A function that returns the name of a device chooses it, wherever the name is used."""
        for value, _ in frame.returned:
            provenance = getattr(value.device, "provenance", None)
            if value.kind is Kind.STRING and provenance is not None and not _counts_devices(frame):
                _check(frame, value, provenance.node)


def _counts_devices(frame: Frame) -> bool:
    """Whether a function asks for the number of devices: it may return the rank only if such a device exists."""
    return frame.function is not None and COUNTS_GPUS in names_in(frame.function.node)


def _check_keywords(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    for key in _KEYWORDS:
        value = args.keywords.get(key)
        if value is not None:
            for each in _elements(frame, value):
                _check(frame, each, node, args.expression(key))


def _check_positions(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    if name in table.TAKE_A_DEVICE:
        for index, value in enumerate(args.positional[: 2 if name == "device" else 1]):
            _check(frame, value, node, args.expression(index))


def _check(frame: Frame, value: Value, node: cst.CSTNode, expression: cst.BaseExpression | None = None) -> None:
    """Emit an event if the value that chooses a device is the global rank."""
    if value.device != (BY_RANK if value.kind is Kind.STRING else GLOBAL_RANK):
        return
    provenance = getattr(value.device, "provenance", None)
    frame.emit(DeviceChosen, node, index=value, provenance=provenance, expression=expression)


def _elements(frame: Frame, value: Value) -> list[Value]:
    return frame.memory.contents(value) if value.kind in (Kind.CONTAINER, Kind.TUPLE) else [value]


OBSERVER = DeviceChoice()

"""The device of a tensor: where it is created, where it is moved, and the step that put it there.

    x = torch.tensor(3)              cpu, where it is created
    x = rows.cpu()                   cpu, even if nothing else is known of `rows`
    f"cuda:{dist.get_rank()}"        a text that contains a rank
    x /= steps, x += counts          x stays where it is, also if nothing is known of `steps` and `counts`
    rank % dist.get_world_size()     still the rank in the whole job

The transfer functions are in `transfer/tensors/tensor_devices.py`; the join of several devices is in
`domain/devices.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import innermost
from trl_lint.analysis.state.refining import Domain, FunctionCall
from trl_lint.analysis.transfer.tensors import tensor_devices
from trl_lint.domain.devices import BY_RANK, GLOBAL_RANK, GLOBAL_SIZE, HOST, Device
from trl_lint.domain.provenance import NamedByRank, RemainderOfRank
from trl_lint.domain.values import Kind
from trl_lint.knowledge import torch_ops

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.torch_ops import Operation

_REMAINDER = frozenset({cst.Modulo, cst.ModuloAssign})
# What changes a tensor in place, usually by a number, and by another tensor.
_SCALE = frozenset({cst.DivideAssign, cst.MultiplyAssign})
_ADD = frozenset({cst.AddAssign, cst.SubtractAssign})
_TENSORS = frozenset({Kind.BATCH, Kind.TENSOR})


class DeviceDomain(Domain["Frame"]):
    def tensor_method(
        self, frame: Frame, row: Operation, receiver: Value, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        return _located(frame, value, node)

    def unknown_method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        if name != "cpu" and (name != "to" or not args.all()):
            return value
        # A value with this method is a tensor, or is moved like one.
        place = tensor_devices.moved(torch_ops.of_method(name), receiver, args.positional, args.keywords)
        return _located(frame, value.replace(device=place), node)

    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        return _located(frame, tensor_devices.created(call.row, call.name, call.args, value), call.node)

    def operator(
        self, frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, value: Value
    ) -> Value:
        if left.kind is Kind.TENSOR is value.kind and _stays(left, operator, right):
            return value.replace(device=left.device)
        is_rank = left.device == GLOBAL_RANK and right.device == GLOBAL_SIZE and type(operator) in _REMAINDER
        if not is_rank:
            return value
        before = getattr(left.device, "provenance", None)
        step = RemainderOfRank(frame.module, frame.statement, "modulo the number of all processes", before)
        return value.replace(device=Device(GLOBAL_RANK, step))

    def text(self, frame: Frame, parts: Sequence[Value], value: Value) -> Value:
        place = tensor_devices.formatted(parts, value)
        if place == BY_RANK:
            place = _chosen_here(frame, place)
        return value.replace(device=place) if place else value


def _stays(left: Value, operator: cst.CSTNode, right: Value) -> bool:
    """Whether a tensor is changed in place, and so moved nowhere. One number may be bound anew."""
    if type(operator) in _SCALE and right.kind not in _TENSORS:
        return True
    return type(operator) in _SCALE | _ADD and not left.scalar


def _chosen_here(frame: Frame, place: str) -> str:
    """The device of a text with a rank, which is chosen in this function if another one only says its rank."""
    read = getattr(place, "provenance", None)
    if read is None:
        return place
    function = None if frame.function is None else frame.function.node
    if read.module is frame.module and innermost(frame.module.tree, read.node, cst.FunctionDef) is function:
        return place
    return Device(place, NamedByRank(frame.module, frame.statement, "the rank is put into the name of a device", read))


def _located(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """The value, with `node` as the explanation of its device."""
    place = value.device
    if not place or place == HOST or getattr(place, "provenance", None) is not None:
        return value
    text = "it is put on the CPU here" if place.startswith("cpu") else f"it is moved to `{place}` here"
    return value.replace(device=Device(place, frame.step(node, text)))


DOMAIN = DeviceDomain()

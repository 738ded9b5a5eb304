"""The shape of a tensor: which of its dimensions have the same length on all ranks.

    x = batch["input_ids"]           (same, ragged)
    x[:, 0]                          (same)
    model(**batch).logits            (same, ragged, same)

The transfer functions are in `transfer/tensors/`: operations (`tensor_shapes.py`), subscripts (`subscript_shapes.py`),
and batches and models (`batch_shapes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain, FunctionCall
from trl_lint.analysis.transfer.tensors import (
    batch_lengths,
    batch_shapes,
    longest_rows,
    subscript_shapes,
    tensor_shapes,
)
from trl_lint.analysis.transfer.tensors.tensor_sizes import shaped, size_along, sized
from trl_lint.domain.kinds import SizesValue
from trl_lint.knowledge.torch_ops import ShapeTransfer

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.torch_ops import Operation


class ShapeDomain(Domain["Frame"]):
    def tensor_method(
        self, frame: Frame, row: Operation, receiver: Value, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        if row.shape is ShapeTransfer.SIZE and not args.all():
            return value.as_a(SizesValue, shape=receiver.shape)  # `x.size()` is `x.shape`
        shape = tensor_shapes.of_method(row, receiver, args.positional, args.keywords)
        return sized(value, receiver.shape, shape) if row.shape is ShapeTransfer.SIZE else shaped(value, shape)

    def in_place(self, frame: Frame, row: Operation, receiver: Value, value: Value) -> Value:
        return shaped(value, tensor_shapes.of_in_place(row, receiver))

    def entry(self, frame: Frame, batch: Value, name: str, args: Arguments, value: Value) -> Value:
        return batch_shapes.entry(frame, batch, value, name, args)

    def attribute(self, frame: Frame, receiver: Value, name: str, value: Value) -> Value:
        return batch_shapes.attribute_of(frame, receiver, value, name)

    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        return shaped(value, tensor_shapes.of_function(frame, call.row, call.name, call.args))

    def builtin(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        return longest_rows.longest(frame, name, args, node, value)

    def project_function(self, frame: Frame, function: FunctionInfo, args: Arguments, value: Value) -> Value:
        return batch_shapes.returned(frame, function, args, value)

    def forward(self, frame: Frame, model: Value, args: Arguments, value: Value) -> Value:
        return batch_shapes.with_logits(frame, value, model, args)

    def generated(self, frame: Frame, args: Arguments, value: Value) -> Value:
        return batch_shapes.generated(value, args)

    def library_function(
        self, frame: Frame, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
    ) -> Value:
        shape = tensor_shapes.of_named(frame, row.name, args)
        return batch_lengths.mapped(frame, receiver, args, value) if shape is None else shaped(value, shape)

    def created(self, frame: Frame, bases: Iterable[str], args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        batch_lengths.note_lengths(frame, args, value)
        return batch_lengths.loaded(frame, args, value)

    def operator(
        self, frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, value: Value
    ) -> Value:
        return tensor_shapes.broadcast(value, left, right)

    def comparison(self, frame: Frame, left: Value, right: Value, value: Value) -> Value:
        return tensor_shapes.broadcast(value, left, right)

    def size(self, frame: Frame, sizes: Value, index: Value, value: Value) -> Value:
        return value if sizes.shape is None else sized(value, sizes.shape, size_along(sizes.shape, index))

    def subscript(self, frame: Frame, container: Value, node: cst.Subscript, value: Value) -> Value:
        return subscript_shapes.subscripted(frame, container, value, node)


DOMAIN = ShapeDomain()

"""What a number is a mean of: over how many elements, and whether the means of the ranks are averaged.

    loss = (x * mask).sum() / mask.sum()     a mean over a rank-local count
    gather(loss)                             the means of all ranks
    gather(loss).mean()                      their mean, with the same weight for each rank: reported

The transfer functions are in `transfer/tensors/tensor_averages.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.analysis.state.refining import Domain, Exchange, FunctionCall
from trl_lint.analysis.transfer.tensors import (
    averages_of_entries,
    means_of_calls,
    sums_over_batches,
    tensor_averages,
    totals_in_buffers,
)
from trl_lint.domain.kinds import ContainerValue
from trl_lint.knowledge.computing_libraries import OF_TEXTS

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.ranks import Rank
    from trl_lint.domain.values import Value


class AveragingDomain(Domain["Frame"]):
    # A mean records the value it is taken over, with its device and shape, for the fix of its finding.
    after: ClassVar[tuple[str, ...]] = ("device_facts", "shape_facts")

    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        return tensor_averages.of_method(frame, receiver, name, args, node, value)

    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        if call.name in OF_TEXTS:
            return tensor_averages.of_texts(frame, call.name, call.node, value)
        return tensor_averages.of_function(frame, call.row, call.elements, call.node, value)

    def builtin(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        return tensor_averages.of_builtin(frame, name, args, value)

    def argument(
        self, frame: Frame, expression: cst.CSTNode | None, parameter: tuple[FunctionInfo, str], value: Value
    ) -> Value:
        if value.averaging is None or not value.averaging.means:
            return value
        return tensor_averages.with_call(value, frame.write_here(value, "", expression, parameter))

    def returned(self, frame: Frame, function: FunctionInfo, node: cst.CSTNode, value: Value) -> Value:
        return means_of_calls.returned(frame, function, node, value)

    def loss(self, value: Value) -> None:
        tensor_averages.trained(value)

    def collected(self, frame: Frame, operand: Value, exchange: Exchange, node: cst.CSTNode, value: Value) -> Value:
        own = tensor_averages.collected(frame, operand, node, exchange.how)
        return value if own is None else value.replace(averaging=own)

    def operator(
        self, frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, value: Value
    ) -> Value:
        value = tensor_averages.of_operation(frame, operator, left, right, node, value)
        return sums_over_batches.of_sum(frame, node, value)

    def comparison(self, frame: Frame, left: Value, right: Value, value: Value) -> Value:
        return tensor_averages.of_comparison(left, right, value)

    def subscript(self, frame: Frame, container: Value, node: cst.Subscript, value: Value) -> Value:
        if isinstance(container, ContainerValue):
            return averages_of_entries.of_entry(frame, container, node, value)
        entry = tensor_averages.of_index(frame, container, node, value)
        return totals_in_buffers.of_place(frame, container, node, entry)

    def unpacked(self, frame: Frame, container: Value, value: Value) -> Value:
        return tensor_averages.of_entry(container, value)

    def comprehension(self, frame: Frame, taken: Rank, value: Value) -> Value:
        return tensor_averages.of_comprehension(taken, value)


DOMAIN = AveragingDomain()

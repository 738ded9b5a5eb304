"""Whether a value is computed from what is trained, and where a collective has cut it off from that.

    features = model(x)                    trained
    rows = gather(features)                cut: what a collective fills has no gradient
    rows = nn.functional.all_gather(x)     trained: these collectives have a backward pass
    rows[rank] = features                  trained: the own rows are put back
    torch.cat([features, others])          trained, if the own rows are among them
    loss / gather(loss).mean()             trained: divided by a statistic
    loss + gather(other).mean()            cut: that term of the loss trains nothing

`domain/gradient_paths.py` says how two such facts are combined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.state.refining import Domain, Exchange, FunctionCall
from trl_lint.analysis.transfer.tensors import gradient_cuts
from trl_lint.domain.gradient_paths import TRAINED, Gradient
from trl_lint.knowledge.torch_ops import Operation, RankTransfer

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class GradientDomain(Domain["Frame"]):
    def forward(self, frame: Frame, model: Value, args: Arguments, value: Value) -> Value:
        """What a model computes is trained; a loss of it, or a head, passes on that its inputs are cut off."""
        if not (frame.memory.control.grad and model.grad and value.grad) or not value.rank.differs:
            return value
        return value if value.gradient is not None else value.replace(gradient=TRAINED)

    def collected(self, frame: Frame, operand: Value, exchange: Exchange, node: cst.CSTNode, value: Value) -> Value:
        if not gradient_cuts.cuts(frame, exchange, operand):
            return value
        return value.replace(gradient=Gradient(frame.step(node, "{} returns rows without a gradient"), whole=True))

    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        """The own rows beside those of the others: `torch.cat([features, *others])`."""
        value = gradient_cuts.where_on(frame, value)
        if call.row.rank is not RankTransfer.JOINS or value.gradient is None or value.gradient.cut is None:
            return value
        own = any(each.gradient is TRAINED for each in call.elements.all())
        return value.replace(gradient=TRAINED) if own else value

    def operator(
        self, frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, value: Value
    ) -> Value:
        """A loss that is scaled by a single number which the ranks have gathered keeps its gradient."""
        value = gradient_cuts.where_on(frame, value)
        if value.gradient is None or value.gradient.cut is None or isinstance(operator, _ADDS):
            return value
        for factor, other in ((left, right), (right, left)):
            is_number = factor.scalar and factor.gradient is not None and factor.gradient.whole
            if is_number and other.gradient is not None and other.gradient.cut is None:
                return value.replace(gradient=TRAINED)
        return value

    def tensor_method(
        self, frame: Frame, row: Operation, receiver: Value, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        return gradient_cuts.where_on(frame, value)

    def returned(self, frame: Frame, function: FunctionInfo, node: cst.CSTNode, value: Value) -> Value:
        return gradient_cuts.where_on(frame, value)


_ADDS = (cst.Add, cst.AddAssign, cst.Subtract, cst.SubtractAssign)

DOMAIN = GradientDomain()

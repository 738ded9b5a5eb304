"""The fix for a tensor with a ragged shape in a collective: reduce it before it is sent, or pad it."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.kinds import shape_of
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.padding import padding_for, reduction_of_all
from trl_lint.fixes.support.reductions import REPEATED, is_mean, needs_cast
from trl_lint.fixes.support.scope import names_spelled, scope_of
from trl_lint.fixes.support.tree import call_of, has_comment, keyword_argument, method_on, with_argument
from trl_lint.knowledge.torch_ops import ElementTransfer, of_method

# Methods between the collective and the reduction that do not change the set of elements.
_BETWEEN = frozenset({ElementTransfer.SAME, ElementTransfer.FLOATS, ElementTransfer.MOVED})
_GATHERS = {"accelerate.Accelerator.gather", "accelerate.Accelerator.gather_for_metrics"}


class RaggedGatherFix(RuleFix[CollectiveCalled]):
    title = "Give it the same shape on all ranks"
    uncovers = frozenset({"TRL007", "TRL014"})

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        """The plan to give the tensor the same shape on all ranks, or why that is left to the author."""
        call = event.node
        if event.parts != (event.operand,) or not isinstance(event.argument, cst.Arg) or event.argument.star:
            return NoFix("a container of tensors: the code does not show how each must be padded")
        if not isinstance(call, cst.Call) or len(call.args) != 1:
            return NoFix("the fix depends on other arguments of the collective")
        if event.row.name not in _GATHERS or not isinstance(call.func, cst.Attribute):
            return NoFix("it is not gathered by an accelerator")
        if has_comment(event.argument.value):
            return NoFix("the fix would change a line with a comment")
        reduction, floats = _reduced_by(event)
        if reduction:
            return _plan_to_reduce_first(event, reduction, floats)
        return _plan_to_pad(event)


def _reduced_by(event: CollectiveCalled) -> tuple[str, bool]:
    """The reduction over all elements applied to the result, and whether it is converted to float before that."""
    root = scope_of(event.function, event.module)
    reduction, floats = _reduction_of((*ancestors(root, event.node), event.node))
    return (reduction, floats) if reduction else (reduction_of_all(root, event.node, _exact_reduction_of), False)


def _exact_reduction_of(chain: Path) -> str:
    """The reduction in one use of a name, if repeating it is exact: a mean of means differs from the mean."""
    reduction, _ = _reduction_of(chain)
    return "" if is_mean(reduction) else reduction


def _reduction_of(chain: Path) -> tuple[str, bool]:
    """The reduction that methods, or a function, apply to the innermost node of a chain; and whether to floats."""
    floats = False
    while (method := method_on(chain)) is not None:
        row = of_method(method.name)
        if row.repeats:
            return ("" if method.args else method.name), floats
        if row.elements not in _BETWEEN:
            return "", floats
        floats = floats or row.elements is ElementTransfer.FLOATS
        chain = chain[:-2]
    return _by_function(chain), floats


def _by_function(chain: Path) -> str:
    """`mean`, for `torch.mean(gather(x))`."""
    match chain[-3:-1]:
        case [
            cst.Call(func=cst.Attribute(value=cst.Name(value="torch"), attr=cst.Name(value=name)), args=[only]),
            cst.Arg() as arg,
        ] if only is arg:
            return name if of_method(name).repeats else ""
    return ""


def _plan_to_reduce_first(event: CollectiveCalled, reduction: str, floats: bool) -> FixPlan:
    """`gather(x.sum()).sum()` for `gather(x).sum()`."""
    value = event.operand
    tensor = event.argument.value
    if is_mean(reduction) and (floats or needs_cast(value, reduction, None)) and value.dtype in ("int", "bool"):
        tensor = call_of(tensor, "float")
    # A mean of ragged tensors has another count on each rank.
    caution = "the mean of the ranks' means weighs them equally, however many elements each has" * is_mean(reduction)
    return FixPlan((_replace_operand(event, call_of(tensor, REPEATED[reduction])),), caution=caution)


def _plan_to_pad(event: CollectiveCalled) -> FixPlan | NoFix:
    """`gather(pad_across_processes(x))`, if the code after it ignores the padding."""
    shape = shape_of(event.operand)
    if shape is None or len(shape.ragged) != 1:
        return NoFix("several dimensions differ between ranks")
    if names_spelled(event.node, "pad_across_processes"):
        return NoFix("it is padded along another dimension than the one that differs")
    value = padding_for(scope_of(event.function, event.module), event.node, shape.ragged[0])
    if isinstance(value, str):
        return NoFix(value)
    func = event.node.func.with_changes(attr=cst.Name("pad_across_processes"))
    args = [cst.Arg(event.argument.value), keyword_argument("dim", cst.Integer(str(shape.ragged[0])))]
    if value:
        args.append(keyword_argument("pad_index", cst.parse_expression(str(value))))
    return FixPlan(
        (_replace_operand(event, cst.Call(func, args)),),
        caution="the result contains padding, which the code after it must leave out",
    )


def _replace_operand(event: CollectiveCalled, value: cst.BaseExpression) -> Replace:
    """The edit that passes another tensor to the collective."""
    return Replace(event.node, with_argument(event.node, event.argument, value))

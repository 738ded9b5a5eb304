"""The plan for a tensor of a ragged shape in a collective: it is reduced before it travels, or padded."""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain import values
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.padding import padding_for, reduction_of_all
from trl_lint.fixes.support.reductions import REPEATED, is_mean, needs_cast
from trl_lint.fixes.support.scope import nodes
from trl_lint.fixes.support.tree import TIGHT, call_of, has_comment

# What may stand between the collective and the reduction, and does not change which elements there are.
_BETWEEN = frozenset({"bfloat16", "clone", "contiguous", "cpu", "detach", "double", "float", "half", "to"})
_FLOATS = frozenset({"bfloat16", "double", "float", "half"})
_GATHERS = {"accelerate.Accelerator.gather", "accelerate.Accelerator.gather_for_metrics"}


class RaggedGatherFix(RuleFix[CollectiveCalled]):
    title = "Give it the same shape on all ranks"
    uncovers = frozenset({"TRL007", "TRL014"})

    def plan(self, event: CollectiveCalled) -> FixPlan | NoFix:
        """How to give a collective the same shape on all ranks, or why that is left to the author."""
        call: Any = event.node
        if event.parts != (event.operand,) or not isinstance(event.argument, cst.Arg) or event.argument.star:
            return NoFix("a container of tensors: which of them have to be padded how is the author's to say")
        if not isinstance(call, cst.Call) or len(call.args) != 1:
            return NoFix("what else the collective is given decides on the fix")
        if event.row.name not in _GATHERS or not isinstance(call.func, cst.Attribute):
            return NoFix("no accelerator does the gathering")
        if has_comment(event.module.tree, event.argument.value):
            return NoFix("a comment stands in what the fix would change")
        reduction, floats = _reduced_by(event)
        if reduction:
            return _reduced_first(event, reduction, floats)
        return _padded(event)


def _reduced_by(event: CollectiveCalled) -> tuple[str, bool]:
    """The reduction over all elements that is made of the result at once, and whether it is made a float before."""
    root = _root(event)
    reduction, floats = _reduction_of((*ancestors(root, event.node), event.node))
    return (reduction, floats) if reduction else (reduction_of_all(root, event.node, _exact_reduction_of), False)


def _root(event: CollectiveCalled) -> Any:
    return event.owner.node if event.owner is not None else event.module.tree


def _exact_reduction_of(chain: tuple[Any, ...]) -> str:
    """The reduction of one use of a name, if it may be made twice: a mean of means is another one."""
    reduction, _ = _reduction_of(chain)
    return "" if is_mean(reduction) else reduction


def _reduction_of(chain: tuple[Any, ...]) -> tuple[str, bool]:
    floats = False
    while len(chain) >= 3:
        node, around, outer = chain[-1], chain[-2], chain[-3]
        if isinstance(around, cst.Arg) and isinstance(outer, cst.Call):
            return _by_function(outer), floats
        if not (isinstance(around, cst.Attribute) and around.value is node and isinstance(outer, cst.Call)):
            return "", floats
        name = around.attr.value
        if outer.func is not around:
            return "", floats
        if name in REPEATED:
            return ("" if outer.args or name == "count" else name), floats
        if name not in _BETWEEN:
            return "", floats
        floats = floats or name in _FLOATS
        chain = chain[:-2]
    return "", floats


def _by_function(call: cst.Call) -> str:
    """The `mean` of `torch.mean(gather(x))`."""
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(value="torch"), attr=cst.Name(value=name)), args=[_]):
            return name if name in REPEATED and name != "count" else ""
    return ""


def _reduced_first(event: CollectiveCalled, reduction: str, floats: bool) -> FixPlan:
    value = event.operand
    tensor = event.argument.value
    if is_mean(reduction) and (floats or needs_cast(value, reduction, None)) and value.dtype in ("int", "bool"):
        tensor = call_of(tensor, "float")
    # A mean of what is already gathered has a sum and a count of its own on each rank.
    caution = "the mean of the ranks' means weighs them equally, however many elements each has" * is_mean(reduction)
    return FixPlan((_with_argument(event, call_of(tensor, REPEATED[reduction])),), caution=caution)


def _padded(event: CollectiveCalled) -> FixPlan | NoFix:
    shape = values.shape_of(event.operand)
    if shape is None or len(shape.ragged) != 1:
        return NoFix("several dimensions differ between ranks")
    call: Any = event.node
    if any(isinstance(each, cst.Name) and each.value == "pad_across_processes" for each in nodes(call)):
        return NoFix("it is padded along another dimension than the one that differs")
    value = padding_for(_root(event), call, shape.ragged[0])
    if isinstance(value, str):
        return NoFix(value)
    func = call.func.with_changes(attr=cst.Name("pad_across_processes"))
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    tensor = cst.Arg(event.argument.value, comma=comma)
    dim = cst.Arg(cst.Integer(str(shape.ragged[0])), keyword=cst.Name("dim"), equal=TIGHT)
    index = cst.Arg(cst.parse_expression(str(value)), keyword=cst.Name("pad_index"), equal=TIGHT)
    args = [tensor, dim.with_changes(comma=comma), index] if value else [tensor, dim]
    return FixPlan(
        (_with_argument(event, cst.Call(func, args)),),
        caution="the result holds padding, which what follows has to leave out",
    )


def _with_argument(event: CollectiveCalled, value: cst.BaseExpression) -> Replace:
    call: Any = event.node
    args = [arg.with_changes(value=value) if arg is event.argument else arg for arg in call.args]
    return Replace(call, call.with_changes(args=args))

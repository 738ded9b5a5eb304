"""The fix for an average of the ranks' means: add up their sums and counts, and divide once.

`accelerator.gather(x.sum() / n).mean()` becomes `x_sum / n_sum`, with
`x_sum, x_count = accelerator.reduce(torch.stack([x.sum(), n]), reduction="sum")` on the line before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

import libcst as cst

from trl_lint.analysis.events import Averaged
from trl_lint.analysis.program.syntax import ancestors, below, holder_name, used_names
from trl_lint.domain.averaging import MeanForm
from trl_lint.domain.control import Uniformity
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import enclosing_statement
from trl_lint.fixes.support.edits import FixPlan, NoFix
from trl_lint.fixes.support.logged import (
    Gathered,
    LogSite,
    binding_in_with,
    identifier,
    only_binding,
    with_expression,
)
from trl_lint.fixes.support.node_types import Replacement
from trl_lint.fixes.support.placing import placed
from trl_lint.fixes.support.policy import DIVERGENT, conditions_with
from trl_lint.fixes.support.ratios import ratio_of
from trl_lint.fixes.support.reductions import is_mean
from trl_lint.fixes.support.scope import Binding, as_binding, binds, is_pure, scope_of, works_in_place
from trl_lint.fixes.support.tree import call_of, in_parentheses, method_call, uses_of, with_replaced
from trl_lint.knowledge.torch_ops import ElementTransfer, of_method

_GATHERS = frozenset({"gather", "gather_for_metrics"})
# Prefixes of a mean's name that the name of its sum drops.
_HEADS = ("mean_", "avg_", "average_")


@dataclass(frozen=True, slots=True)
class _Average:
    """An average over the ranks: the collective, its operand, and the name that the result is bound to, if any."""

    collective: cst.BaseExpression
    operand: cst.BaseExpression
    binding: Binding | None = None


class MeanOfMeansFix(RuleFix[Averaged]):
    title = "Divide the sums over all ranks once"
    is_collective = False  # `placed` checks the place where it is logged

    def plan(self, event: Averaged) -> FixPlan | NoFix:
        """The plan to divide the sums over all ranks instead, or why that is left to the author."""
        if event.passed_by:
            return NoFix("a helper computes the average")
        if event.control.uniformity is Uniformity.DIVERGENT:
            return NoFix(DIVERGENT, conditions=conditions_with(event.control, Uniformity.DIVERGENT))
        if len(event.means) != 1:
            return NoFix("it is one of several means, depending on the path taken")
        (mean,) = event.means
        module, ratio = event.module, mean.node
        if mean.form is not MeanForm.RATIO or not isinstance(ratio, cst.BaseExpression):
            return NoFix("its sum and its count are not written in the code")
        if mean.module is not module or mean.payload.function is not event.function:
            return NoFix("its sum and its count are in another function")
        root = scope_of(event.function, module)
        if isinstance(root, cst.Lambda):
            return NoFix("it is in a lambda")
        place = LogSite(event.module, root, event.statement, event.payload, "")
        if not event.payload.accelerator and not event.payload.reducers:
            return NoFix("no `Accelerator` is available here")
        average = _average(place, event.node)
        if average is None or not isinstance(event.node, cst.Call):
            return NoFix("it is not known how the average is computed")
        return _divided_once(place, event.node, average, ratio)


def _average(place: LogSite, node: cst.CSTNode) -> _Average | None:
    """`gather(x).mean()`, `g.mean()` of a name for `gather(x)`, or `reduce(x, "mean")`."""
    average = method_call(node)
    if average is None:
        return None
    if average.name == "reduce" and average.args:
        return _Average(average.node, average.args[0].value)
    if not is_mean(average.name) or average.args:
        return None
    binding = only_binding(place, average.receiver)
    gather = method_call(average.receiver if binding is None else binding.value)
    if gather is None or gather.name not in _GATHERS or len(gather.args) != 1:
        return None
    return _Average(gather.node, gather.args[0].value, binding)


def _divided_once(place: LogSite, node: cst.Call, average: _Average, wanted: cst.BaseExpression) -> FixPlan | NoFix:
    statement = place.statement if average.binding is None else average.binding.assign
    mean = None if average.binding is not None else _used_only_by_average(place, average.operand, wanted)
    if mean is not None:
        # The name is then bound to the mean of all ranks.
        statement, operand = mean.assign, wanted
    else:
        operand = average.operand
    ratio, detached = _ratio(place, operand, wanted, statement)
    if ratio is None:
        return NoFix("its sum or its count may have changed where it is averaged")
    named = LogSite(place.module, place.root, statement, place.payload, _name(place, average))
    named = with_expression(named, ratio, place.value_of(wanted) or place.payload.value)
    found = ratio_of(named, ratio)
    if found is None:
        return NoFix("its sum and its count are not known")
    quotient = in_parentheses(with_replaced(ratio, found.replaced))
    if detached:
        quotient = call_of(quotient, "detach")
    gathered = Gathered((), found.is_number, imports=found.imports, lines=found.lines)
    edits: tuple[Replacement, ...]
    if average.binding is not None:
        if not _is_only_use(place, average.binding):
            return NoFix("the ranks' means are needed for more than their average")
        edits = ((average.collective, _without_own_parentheses(quotient)), (node, cst.Name(average.binding.name.value)))
        return placed(named, replace(gathered, replaced=edits))
    if mean is not None:
        edits = ((wanted, _without_own_parentheses(quotient)), (node, cst.Name(mean.name.value)))
        return placed(named, replace(gathered, replaced=edits))
    edits = ((node, quotient if _is_operand(place, node) else _without_own_parentheses(quotient)),)
    return placed(named, replace(gathered, replaced=edits))


def _ratio(
    place: LogSite, operand: cst.BaseExpression, wanted: cst.BaseExpression, statement: cst.CSTNode
) -> tuple[cst.BinaryOperation | None, bool]:
    """The division behind the gathered value, with its count resolved from a name; and whether it is detached."""
    detached = False
    while operand is not wanted:
        method = method_call(operand)
        if method is not None and of_method(method.name).elements is ElementTransfer.SAME and not method.args:
            # the new division does not need it
            detached = detached or method.name == "detach"
            operand = method.receiver
            continue
        value = _bound_expression(place, operand, statement, wanted)
        if value is None:
            return None, False
        operand = value
    if not isinstance(operand, cst.BinaryOperation) or not _is_unchanged(place, operand, operand, statement):
        return None, False
    divisor = place.value_of(operand.right)
    if isinstance(operand.right, cst.Name) and divisor is not None and divisor.rank.how not in ("sum", "count"):
        count = _bound_expression(place, operand.right, statement)
        if count is None:
            return None, False
        return operand.with_changes(right=count), detached
    return operand, detached


def _bound_expression(
    place: LogSite, node: cst.BaseExpression, statement: cst.CSTNode, wanted: cst.BaseExpression | None = None
) -> cst.BaseExpression | None:
    """What a name is bound to, if computing it again before a statement yields the same; otherwise None."""
    if not isinstance(node, cst.Name):
        return None
    binding = only_binding(place, node) or _binding_of(place, wanted, node.value, statement)
    if binding is None or not _is_unchanged(place, binding.value, binding.assign, statement):
        return None
    return binding.value


def _binding_of(place: LogSite, wanted: cst.BaseExpression | None, name: str, statement: cst.CSTNode) -> Binding | None:
    """The assignment that binds a name to the mean itself, although others bind it too; None if there is none.

    It has to be in the block of the statement that averages, and the name must not be bound again in between.
    """
    around = () if wanted is None else ancestors(place.root, wanted)
    assign = around[-1] if around else None
    if not isinstance(assign, cst.Assign) or not _is_in_block_of(place, statement, assign):
        return None
    binding = as_binding(assign)
    if binding is None or binding.name.value != name:
        return None
    return None if name in _between(place, assign, statement)[0] else binding


def _is_in_block_of(place: LogSite, statement: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two statements are in the same block."""
    here, there = enclosing_statement(place.root, statement), enclosing_statement(place.root, other)
    return here is not None and there is not None and here.block is there.block


def _is_unchanged(place: LogSite, node: cst.BaseExpression, since: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether nothing between two places changes the inputs of an expression, judged by their names."""
    if not is_pure(node):
        return False
    rebound, changed = _between(place, since, statement)
    return not (rebound | changed) & used_names(node)


def _between(place: LogSite, since: cst.CSTNode, statement: cst.CSTNode) -> tuple[set[str], set[str]]:
    """The names that are bound between two places, and the names of objects that are changed in place there."""
    text = list(below(place.root))
    start, end = (next(index for index, each in enumerate(text) if each is mark) for mark in (since, statement))
    between = text[start + len(list(below(since))) : end]
    rebound = set().union(*(binds(each) for each in between))
    return rebound, {holder_name(_changed(each)) for each in between}


def _changed(node: cst.CSTNode) -> cst.BaseExpression | None:
    """What a node changes in place: the target of an item or attribute assignment, the receiver of `x.add_(…)`."""
    if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)):
        return node.target
    method = method_call(node) if works_in_place(node) else None
    return None if method is None else method.receiver


def _used_only_by_average(place: LogSite, operand: cst.BaseExpression, wanted: cst.BaseExpression) -> Binding | None:
    """The assignment of this rank's mean, if only the average over the ranks uses it."""
    mean = only_binding(place, operand) or binding_in_with(place, operand)
    return mean if mean is not None and mean.value is wanted and _is_only_use(place, mean) else None


def _is_only_use(place: LogSite, binding: Binding) -> bool:
    """Whether a name is read exactly once."""
    paths = uses_of(place.root, binding.name.value, after=binding.assign)
    return sum(not (isinstance(path[-2], cst.Attribute) and path[-2].attr is path[-1]) for path in paths) == 1


def _without_own_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    """A division without the parentheses around it; any other expression unchanged."""
    return node.with_changes(lpar=[], rpar=[]) if isinstance(node, cst.BinaryOperation) else node


def _is_operand(place: LogSite, node: cst.BaseExpression) -> bool:
    """Whether an operator or a method is applied to the expression, so that a division there needs parentheses."""
    around = ancestors(place.root, node)
    return bool(around) and isinstance(around[-1], (cst.Attribute, cst.BinaryOperation, cst.UnaryOperation))


def _name(place: LogSite, average: _Average) -> str:
    """The base for the names of the sums: the name of the mean, otherwise the metric that it is stored as."""
    operand = average.operand
    while (method := method_call(operand)) is not None:
        operand = method.receiver
    if isinstance(operand, cst.Name):
        name = operand.value
        head = next((each for each in _HEADS if name.startswith(each) and name != each), "")
        return name[len(head) :]
    keys = [each.slice[-1].slice for each in below(place.statement) if isinstance(each, cst.Subscript)]
    texts = [key.value.raw_value for key in keys if isinstance(key, cst.Index) and _is_text(key.value)]
    if not texts and isinstance(place.statement, cst.Assign):
        target = place.statement.targets[0].target
        texts = [target.value] if isinstance(target, cst.Name) else []
    return texts[-1] if texts and identifier(texts[-1]) else "local"


def _is_text(node: cst.BaseExpression) -> TypeGuard[cst.SimpleString]:
    return isinstance(node, cst.SimpleString) and isinstance(node.raw_value, str)

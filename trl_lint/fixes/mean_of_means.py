"""The plan for an average of the ranks' means: their sums and counts are added up, and divided once.

`accelerator.gather(x.sum() / n).mean()` becomes `x_sum / n_sum`, of
`x_sum, x_count = accelerator.reduce(torch.stack([x.sum(), n]), reduction="sum")` in the line before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import libcst as cst

from trl_lint.analysis.events import Averaged
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.averaging import MeanForm
from trl_lint.fixes.support.logged import Gathered, LogSite, identifier, only_binding, with_payload
from trl_lint.fixes.support.placing import Mending, hint, placed
from trl_lint.fixes.support.ratios import ratio_of
from trl_lint.fixes.support.scope import binds, is_pure, nodes, root_name, used_names
from trl_lint.fixes.support.tree import call_of, method_call, uses_of, with_replaced
from trl_lint.knowledge.heuristics import CHANGES_IN_PLACE

_GATHERS = frozenset({"gather", "gather_for_metrics"})
_AVERAGES = frozenset({"mean", "nanmean"})
# Steps between a mean and its gather that may be left out: what is divided anew has no need of them.
_STEPS = frozenset({"clone", "contiguous", "detach"})
# Heads of a mean's name that its sum does not keep.
_HEADS = ("mean_", "avg_", "average_")


@dataclass(frozen=True, slots=True)
class _Average:
    """An average over the ranks: the collective, what it is given, and the name its result is bound to, if it is."""

    collective: Any
    operand: Any
    binding: Any = None


def plan_for(event: Averaged) -> Mending:
    """How to divide the sums over all ranks instead, or why that is left to the author."""
    if event.handed:
        return hint("a helper averages it")
    if event.control.level == 2:
        return hint("not all ranks may get here together")
    if len(event.means) != 1:
        return hint("it is one of several means, depending on how one gets here")
    (mean,) = event.means
    if mean.form is not MeanForm.RATIO:
        return hint("its sum and its count do not stand in the code")
    if mean.module is not event.module or mean.payload.owner is not event.owner:
        return hint("its sum and its count stand in another function")
    root = event.owner.node if event.owner is not None else event.module.tree
    if isinstance(root, cst.Lambda):
        return hint("it stands in a lambda")
    place = LogSite(event.module, root, event.statement, event.payload, "")
    if not event.payload.accelerator and not event.payload.reducers:
        return hint("no accelerator is in reach")
    average = _average(place, event.node)
    if average is None:
        return hint("how the average is taken can't be told from the code")
    return _divided_once(place, event.node, average, mean.node)


def _average(place: LogSite, node: Any) -> _Average | None:
    """`gather(x).mean()`, `g.mean()` of a name for `gather(x)`, or `reduce(x, "mean")`."""
    method = method_call(node)
    if method is None:
        return None
    receiver, name = method
    if name == "reduce" and node.args:
        return _Average(node, node.args[0].value)
    if name not in _AVERAGES or node.args:
        return None
    binding = None
    if isinstance(receiver, cst.Name):
        binding = only_binding(place, receiver)
        receiver = None if binding is None else binding.value
    gather = method_call(receiver)
    if gather is None or gather[1] not in _GATHERS or len(receiver.args) != 1:
        return None
    return _Average(receiver, receiver.args[0].value, binding)


def _divided_once(place: LogSite, node: Any, average: _Average, wanted: Any) -> Mending:
    statement = place.statement if average.binding is None else average.binding
    ratio, detached = _ratio(place, average.operand, wanted, statement)
    if ratio is None:
        return hint("its sum or its count may be another one where it is averaged")
    named = LogSite(place.module, place.root, statement, place.payload, _name(place, average))
    named = with_payload(named, expression=ratio, value=place.value_of(wanted))
    found = ratio_of(named, ratio)
    if found is None:
        return hint("its sum and its count can't be told from the code")
    quotient = with_replaced(ratio, found.replaced).with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    if detached:
        quotient = call_of(quotient, "detach")
    gathered = Gathered((), found.is_number, imports=found.imports, lines=found.lines)
    edits: tuple[tuple[Any, cst.BaseExpression], ...]
    if average.binding is not None:
        if not _is_only_use(place, average.binding):
            return hint("the ranks' means are needed for more than their average")
        edits = ((average.collective, _bare(quotient)), (node, _named_by(average.binding)))
        return placed(named, replace(gathered, replaced=edits))
    mean = only_binding(place, average.operand)
    if mean is not None and mean.value is wanted and _is_only_use(place, mean):
        # Nothing else needs this rank's mean: the name stands for the one of all ranks.
        named = LogSite(place.module, place.root, mean, named.payload, named.what)
        edits = ((wanted, _bare(quotient)), (node, _named_by(mean)))
        return placed(named, replace(gathered, replaced=edits))
    edits = ((node, quotient if _is_inside(place, node) else _bare(quotient)),)
    return placed(named, replace(gathered, replaced=edits))


def _ratio(place: LogSite, operand: Any, wanted: Any, statement: Any) -> tuple[Any, bool]:
    """The division behind what is gathered, with its count where that is bound to a name; whether it is detached."""
    detached = False
    while operand is not wanted:
        method = method_call(operand)
        if method is not None and method[1] in _STEPS and not operand.args:
            detached = detached or method[1] == "detach"
            operand = method[0]
            continue
        operand = _behind(place, operand, statement, wanted)
        if operand is None:
            return None, False
    if not isinstance(operand, cst.BinaryOperation) or not _is_unchanged(place, operand, operand, statement):
        return None, False
    below = place.value_of(operand.right)
    if isinstance(operand.right, cst.Name) and below is not None and below.rank.how not in ("sum", "count"):
        count = _behind(place, operand.right, statement)
        if count is None:
            return None, False
        return operand.with_changes(right=count), detached
    return operand, detached


def _behind(place: LogSite, node: Any, statement: Any, wanted: Any = None) -> Any:
    """What a name is bound to, if computing it again before a statement gives the same; None when it may not."""
    if not isinstance(node, cst.Name):
        return None
    assign = only_binding(place, node) or _binding_of(place, wanted, node.value, statement)
    if assign is None or not _is_unchanged(place, assign.value, assign, statement):
        return None
    return assign.value


def _binding_of(place: LogSite, wanted: Any, name: str, statement: Any) -> Any:
    """The statement that binds a name to the mean itself, which is bound to others elsewhere; None if there is none.

    It has to stand in the block of the statement that averages, before which the name is not bound again.
    """
    around = () if wanted is None else ancestors(place.root, wanted)
    if not around or not isinstance(around[-1], cst.Assign) or not _is_block(around, place, statement):
        return None
    assign = around[-1]
    target = assign.targets[0].target if len(assign.targets) == 1 else None
    if not isinstance(target, cst.Name) or target.value != name:
        return None
    return None if name in _between(place, assign, statement)[0] else assign


def _is_block(around: tuple[Any, ...], place: LogSite, statement: Any) -> bool:
    """Whether a statement stands in the block that an assignment, whose nodes around it these are, stands in."""
    other = ancestors(place.root, statement)
    return len(around) > 2 and len(other) > 1 and around[-3] is other[-2]


def _is_unchanged(place: LogSite, node: Any, since: Any, statement: Any) -> bool:
    """Whether nothing between two places changes what an expression is computed from, by its names."""
    if not is_pure(node):
        return False
    rebound, changed = _between(place, since, statement)
    return not (rebound | changed) & used_names(node)


def _between(place: LogSite, since: Any, statement: Any) -> tuple[set[str], set[str]]:
    """The names that are bound between two places, and those of what is changed in place there."""
    text = list(nodes(place.root))
    start, end = (next(index for index, each in enumerate(text) if each is mark) for mark in (since, statement))
    between = text[start + len(list(nodes(since))) : end]
    rebound = set().union(*(binds(each) for each in between))
    return rebound, {root_name(target) for each in between for target in _changed(each)}


def _changed(node: Any) -> list[Any]:
    """What a node changes in place: the target of an item or an attribute, the receiver of `x.add_(…)`."""
    if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)):
        return [_base(node.target)]
    method = method_call(node)
    return [_base(method[0])] if method is not None and CHANGES_IN_PLACE.fits(method[1]) else []


def _base(node: Any) -> Any:
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def _named_by(binding: Any) -> cst.Name:
    return cst.Name(binding.targets[0].target.value)


def _is_only_use(place: LogSite, binding: Any) -> bool:
    """Whether a name is read just once."""
    paths = uses_of(place.root, binding.targets[0].target.value, after=binding)
    return sum(not (isinstance(path[-2], cst.Attribute) and path[-2].attr is path[-1]) for path in paths) == 1


def _bare(node: Any) -> Any:
    return node.with_changes(lpar=[], rpar=[]) if isinstance(node, cst.BinaryOperation) else node


def _is_inside(place: LogSite, node: Any) -> bool:
    """Whether an operator or a method takes the expression, so that a division needs parentheses there."""
    around = ancestors(place.root, node)
    return bool(around) and isinstance(around[-1], (cst.Attribute, cst.BinaryOperation, cst.UnaryOperation))


def _name(place: LogSite, average: _Average) -> str:
    """What the sums are called after: the name of the mean, else the metric it is stored as."""
    operand = average.operand
    while (method := method_call(operand)) is not None:
        operand = method[0]
    if isinstance(operand, cst.Name):
        name = operand.value
        head = next((each for each in _HEADS if name.startswith(each) and name != each), "")
        return name[len(head) :]
    keys = [each.slice[-1].slice for each in nodes(place.statement) if isinstance(each, cst.Subscript)]
    texts = [key.value.raw_value for key in keys if isinstance(key, cst.Index) and _is_text(key.value)]
    if not texts and isinstance(place.statement, cst.Assign):
        target = place.statement.targets[0].target
        texts = [target.value] if isinstance(target, cst.Name) else []
    return texts[-1] if texts and identifier(texts[-1]) else "local"


def _is_text(node: Any) -> TypeGuard[cst.SimpleString]:
    return isinstance(node, cst.SimpleString) and isinstance(node.raw_value, str)

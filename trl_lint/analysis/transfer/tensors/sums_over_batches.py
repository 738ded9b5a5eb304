"""Means that are added up over batches: each batch counts the same, on one process and on several.

for batch in loader:
    total += (correct * mask).sum() / mask.sum()       no mean of the ranks' own counts any more
return gather(total / len(loader)).mean()

for batch in loader:
    total = 0.0
    for layer in layers:
        total += (kl(layer) * mask).sum() / mask.sum()  still a mean over the elements of one batch
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.asked_batches import asked_of
from trl_lint.analysis.program.idioms.path_conditions import bindings
from trl_lint.analysis.program.syntax import ancestors, below, of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.operands import is_of_own_data
from trl_lint.domain.averaging import Stage, only_terms
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Value

# What reads an entry of a dict that may not be there yet.
_READS_ENTRY = "get"


def of_sum(frame: Frame, node: cst.CSTNode, total: Value) -> Value:
    """The value of an addition: no mean of the kinds that are averaged wrongly, if it adds the means of batches."""
    fact = total.averaging
    if fact is None or not fact.means or fact.stage is not Stage.LOCAL:
        return total
    target = _grown_target(frame.root, node)
    if target is None or not _grows_by_batches(frame, target, node):
        return total
    return total.replace(averaging=only_terms(fact))


def _grown_target(root: cst.CSTNode, node: cst.CSTNode) -> cst.BaseExpression | None:
    """`total` of `total += mean` and of `total = total + mean`, at the addition."""
    match node:
        case cst.AugAssign(target=target, operator=cst.AddAssign()):
            return target
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            around = ancestors(root, node)
            match around[-1] if around else None:
                case cst.Assign(targets=[cst.AssignTarget(target=target)]) if any(
                    _reads(each, target) for each in (left, right)
                ):
                    return target
    return None


def _reads(expression: cst.CSTNode, target: cst.BaseExpression) -> bool:
    """Whether an expression is the value of a target so far: `sums["kl"]`, `sums.get("kl", 0.0)`."""
    match expression, target:
        case (
            cst.Call(func=cst.Attribute(value=holder, attr=cst.Name(name)), args=[cst.Arg(value=key), *_]),
            cst.Subscript(value=other, slice=[cst.SubscriptElement(slice=cst.Index(value=entry))]),
        ) if name == _READS_ENTRY:
            return holder.deep_equals(other) and key.deep_equals(entry)
    return expression.deep_equals(target)


def _grows_by_batches(frame: Frame, target: cst.BaseExpression, node: cst.CSTNode) -> bool:
    """Whether a loop over batches of this rank adds to a variable without setting it anew for each batch."""
    for loop in reversed(ancestors(frame.root, node)):
        if isinstance(loop, (cst.For, cst.While)):
            if any(_sets_anew(loop, each, target) for each in bindings(loop.body, target)):
                return False
            if _takes_batches(frame, loop):
                return True
    return False


def _sets_anew(loop: cst.For | cst.While, binding: cst.CSTNode, target: cst.BaseExpression) -> bool:
    """Whether each turn of a loop gives a variable a value without its last one, unlike `if step % 100 == 0: x = 0`."""
    around = ancestors(loop.body, binding)
    if isinstance(binding, cst.AugAssign) or any(isinstance(each, cst.If) for each in around):
        return False
    statement = around[-1]
    return not (isinstance(statement, cst.Assign) and any(_reads(each, target) for each in below(statement.value)))


def _takes_batches(frame: Frame, loop: cst.For | cst.While) -> bool:
    if any(asked_of(each) is not None for each in of_class(loop.body, cst.Call)):
        return True
    iterable = frame.known_value(loop.iter) if isinstance(loop, cst.For) else None
    return iterable is not None and any(map(is_of_own_data, items_or_itself(containers.iterate(frame, iterable)[0])))

"""`if len(rows) == 0:` of what a mask has selected, where a rank whose mask selects nothing has left before.

kept = labels >= 0
if kept.sum() == 0: continue
rows = rows[kept]                 rows[torch.where(kept)[0]] likewise, if the indices have been counted
if rows.size(0) == 0: continue    false on all ranks: whatever differs has been decided above
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.emptiness_tests import counted_in, measured
from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.syntax import assignments, inwards, names_in, of_class, precedes
from trl_lint.analysis.state.frame import Frame

# Not in torch_ops: the question here is whether a mask selects anything.
_COUNTS = frozenset({"any", "count_nonzero", "item", "nonzero", "sum"})
_IS_ZERO = {(cst.Equal, "0"), (cst.LessThan, "1"), (cst.LessThanEqual, "0")}


def has_selected_some(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test asks if there is any of what a mask has selected, and the mask is known to select something."""
    count = counted_in(test)
    match None if count is None else measured(count):
        case cst.Name(rows):
            selected = _selection_of(frame.root, test, rows)
            return selected is not None and any(
                _is_without(frame.root, branch.test, selected) and not _is_assigned(frame.root, selected, branch, test)
                for branch in exits_before(frame.root, test)
            )
    return False


def _selection_of(root: cst.CSTNode, test: cst.CSTNode, rows: str) -> str | None:
    """The name of the mask that has selected these rows, by the last assignment to them, which all get to."""
    before = [(target, value) for target, value in assignments(root) if precedes(root, target, test)]
    last = next(((target, value) for target, value in reversed(before) if rows in names_in(target)), None)
    if last is None or not any(last[0] is each for each in _targets_around(root, test)):
        return None
    match last:
        case (cst.Name(), cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.Name(mask)))])):
            return mask
    return None


def _targets_around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The targets of the assignments before a place that stand in the blocks around it."""
    for block, inner in inwards(root, node):
        if isinstance(block, (cst.IndentedBlock, cst.Module)):
            lines = (
                each for each in block.body[: block.body.index(inner)] if isinstance(each, cst.SimpleStatementLine)
            )
            assigned = (each for line in lines for each in line.body if isinstance(each, cst.Assign))
            yield from (target.target for each in assigned for target in each.targets)


def _is_without(root: cst.CSTNode, test: cst.BaseExpression, mask: str) -> bool:
    """Whether a test holds if a mask, or a list of indices, selects nothing."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=count):
            return _counts(root, count, mask)
        case cst.Comparison(left=count, comparisons=[cst.ComparisonTarget(operator, cst.Integer(value))]):
            return (type(operator), value) in _IS_ZERO and _counts(root, count, mask)
        case cst.BooleanOperation(left=left, operator=cst.Or(), right=right):
            return _is_without(root, left, mask) or _is_without(root, right, mask)
    return False


def _counts(root: cst.CSTNode, count: cst.BaseExpression, mask: str) -> bool:
    """Whether an expression counts what a mask selects: `mask.sum().item()`, `torch.any(mask)`, `len(indices)`."""
    sized = measured(count)
    if sized is not None:
        return isinstance(sized, cst.Name) and sized.value == mask and not _is_compared(root, mask)
    match count:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name)), args=args) if name in _COUNTS:
            given = args[0].value if len(args) == 1 else owner
            return (isinstance(given, cst.Name) and given.value == mask) or _counts(root, given, mask)
    return False


def _is_compared(root: cst.CSTNode, name: str) -> bool:
    """Whether a name is bound to a comparison, `labels >= 0`, which is as long as what it compares."""
    bound = (value for target, value in assignments(root) if isinstance(target, cst.Name) and target.value == name)
    return any(isinstance(part, cst.Comparison) for each in bound for part in (each, *_operands(each)))


def _operands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What operators combine: `(labels >= 0) & (labels < 9)`, `~(labels < 0)`."""
    match value:
        case cst.BinaryOperation(left=left, right=right):
            for each in (left, right):
                yield from (each, *_operands(each))
        case cst.UnaryOperation(expression=inner):
            yield from (inner, *_operands(inner))


def _is_assigned(root: cst.CSTNode, name: str, start: cst.CSTNode, end: cst.CSTNode) -> bool:
    """Whether a name, or a part of it, may be assigned between two places."""
    targets = [*(target for target, _ in assignments(root)), *(each.target for each in of_class(root, cst.AugAssign))]
    return any(name in names_in(each) and precedes(root, start, each) and precedes(root, each, end) for each in targets)

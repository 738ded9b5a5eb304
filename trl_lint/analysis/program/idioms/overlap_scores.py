"""Scores of how much two masks overlap: each sample has its score, and the mean of the scores is what is wanted.

inter = (pred & mask).sum()
2 * inter / (pred.sum() + mask.sum())       the Dice coefficient: not a mean over the elements of a mask
inter / (pred | mask).sum()                 the intersection over the union
inter / ((pred + mask) > 0).sum()           the same
(loss * mask).sum() / mask.sum()            a mean
inter / ((pred & mask).sum() + (pred & ~mask).sum())    a share of `pred`: the precision
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, below, last_name

# Not in torch_ops: names as written, of what is done with two masks.
_BOTH = frozenset({"bitwise_and", "logical_and", "mul", "multiply"})
_EITHER = frozenset({"bitwise_or", "logical_or"})
# Methods whose result has the same elements, as another type or in another shape. Not in torch_ops: names as written.
_SAME_ELEMENTS = frozenset({
    "bool", "byte", "contiguous", "cpu", "detach", "double", "flatten", "float", "int", "long", "reshape", "squeeze",
    "to", "view",
})  # fmt: skip
# As many names as this are followed to what is assigned to them.
_MOST_NAMES = 20


def is_overlap_score(root: cst.CSTNode, ratio: cst.CSTNode) -> bool:
    """Whether a division in a function (or file) relates the intersection of two masks to their sizes or union."""
    if not isinstance(ratio, cst.BinaryOperation):
        return False
    above = [both for each in _summed(root, ratio.left) if (both := _pair(each, cst.BitAnd, _BOTH, cst.Multiply))]
    below_it = list(_summed(root, ratio.right))
    unions = [either for each in below_it if (either := _pair(each, cst.BitOr, _EITHER, cst.Add))]
    return any(
        all(any(_is_same(part, each) for each in below_it) for part in pair)
        or any(all(any(_is_same(part, each) for each in union) for part in pair) for union in unions)
        for pair in above
    )


def _summed(root: cst.CSTNode, expression: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is summed in an expression, and in what is assigned to the names in it."""
    waiting = [expression]
    for each in waiting:
        for node in below(each):
            if isinstance(node, cst.Call) and last_name(node.func) == "sum":
                yield _elements(root, _subject(node))
            elif isinstance(node, cst.Name) and len(waiting) < _MOST_NAMES:
                value = assigned_once(root, node.value)
                if value is not None and not any(value is known for known in waiting):
                    waiting.append(value)


def _subject(call: cst.Call) -> cst.BaseExpression:
    """What a sum is of: `x` of `x.sum(1)` and of `torch.sum(x)`."""
    func = call.func
    if isinstance(func, cst.Attribute) and not (
        isinstance(func.value, cst.Name) and func.value.value in ("np", "torch")
    ):
        return func.value
    return call.args[0].value if call.args else call


def _elements(root: cst.CSTNode, expression: cst.BaseExpression, depth: int = 3) -> cst.BaseExpression:
    """An expression without what only changes the type or shape of its result, squares it or tells what is in it."""
    match expression:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(name))) if name in _SAME_ELEMENTS:
            return _elements(root, inner, depth)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name("pow" | "square"))):
            return _elements(root, inner, depth)
        case cst.BinaryOperation(operator=cst.Power(), left=inner):
            return _elements(root, inner, depth)
        case cst.BinaryOperation(operator=cst.Multiply(), left=one, right=two) if _is_same(one, two):
            return _elements(root, one, depth)
        case cst.Comparison(left=inner) if _is_threshold(expression):
            return _elements(root, inner, depth)
        case cst.Name(name) if depth and (value := assigned_once(root, name)) is not None:
            found = _elements(root, value, depth - 1)
            return found if isinstance(found, cst.BinaryOperation) and _pair(found, cst.BitAnd, _BOTH) else expression
    return expression


def _pair(
    expression: cst.BaseExpression, operator: type[cst.CSTNode], names: frozenset[str], *others: type[cst.CSTNode]
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two sides of an operation of this kind."""
    match expression:
        case cst.BinaryOperation(operator=found, left=one, right=two) if isinstance(found, (operator, *others)):
            return one, two
        case cst.Call(func=func, args=[cst.Arg(value=one), cst.Arg(value=two)]) if last_name(func) in names:
            return one, two
        case cst.Call(func=cst.Attribute(value=one, attr=cst.Name(name)), args=[cst.Arg(value=two)]) if name in names:
            return one, two
    return None


def _is_same(one: cst.BaseExpression, two: cst.BaseExpression) -> bool:
    return _bare(one).deep_equals(_bare(two))


def _bare(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The values of a mask, without parentheses: `mask` of `(mask > 0)`."""
    if isinstance(expression, cst.Comparison) and _is_threshold(expression):
        expression = expression.left
    return expression.with_changes(lpar=(), rpar=())


def _is_threshold(test: cst.BaseExpression) -> bool:
    """Whether a comparison asks which elements are set: `mask > 0.5`, `mask != 0`."""
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator, cst.Float() | cst.Integer())]):
            return isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual, cst.NotEqual))
    return False

"""`if not batch:` of a slice that a loop over steps has cut: the steps begin before the end, so none of them is empty.

For example:

    for start in range(0, len(rows), size):
        batch = rows[start : start + size]                          never empty
    steps = (len(rows) + size - 1) // size                          math.ceil(len(rows) / size), len(rows) // size
    for step in range(steps):
        first = step * size
        batch = rows[first : min(first + size, len(rows))]          never empty
        batch = others[first : first + size]                        not known: they may be fewer
    count = len(rows)
    rows = rows[rank::world]
    for start in range(0, count, size):
        batch = rows[start : start + size]                          not known: there were more of them
    for step in range(limit):
        batch = rows[step * size : (step + 1) * size]               not known: the steps may go beyond the end
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.rounding import raised_for_division
from trl_lint.analysis.program.syntax import (
    LOOPS,
    assigned_once,
    below,
    innermost,
    last_name,
    loop_targets,
    names_in,
    of_class,
    precedes,
    value_names,
)

# What is true if there is anything, and what is true if there is nothing, of a number of elements.
_ANY = {(cst.GreaterThan, "0"), (cst.GreaterThanEqual, "1"), (cst.NotEqual, "0")}
_NONE = {(cst.Equal, "0"), (cst.LessThan, "1"), (cst.LessThanEqual, "0")}
# Not in torch_ops: methods of lists that leave fewer elements.
_SHRINK = frozenset({"clear", "pop", "remove"})
# How far names are followed.
_DEPTH = 4


def decided(root: cst.CSTNode, test: cst.BaseExpression) -> bool | None:
    """The answer of a test for any elements of such a slice; None for other tests."""
    asked = _asked(test)
    loop = innermost(root, test, *LOOPS) if asked is not None else None
    if asked is None or not isinstance(loop, cst.For):
        return None
    name, answer = asked
    return answer if name not in loop_targets(root) and _is_filled(root, loop, name, test) else None


def _asked(test: cst.BaseExpression) -> tuple[str, bool] | None:
    """The name of what a test asks for elements, and its answer if there are any."""
    match test:
        case cst.Name(name) | cst.Call(func=cst.Name("len"), args=[cst.Arg(cst.Name(name))]):
            return name, True
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            found = _asked(inner)
            return None if found is None else (found[0], not found[1])
        case cst.Comparison(
            left=cst.Call(func=cst.Name("len"), args=[cst.Arg(cst.Name(name))]),
            comparisons=[cst.ComparisonTarget(operator, cst.Integer(value))],
        ):
            kind = (type(operator), value)
            return (name, kind in _ANY) if kind in _ANY or kind in _NONE else None
    return None


def _is_filled(root: cst.CSTNode, loop: cst.For, name: str, test: cst.CSTNode) -> bool:
    """Whether a name is bound once, before the test, to a slice that is never empty, and is not used in between."""
    cut = assigned_once(loop.body, name)
    match cut:
        case cst.Subscript(
            value=cst.Name(rows),
            slice=[
                cst.SubscriptElement(
                    cst.Slice(lower=cst.BaseExpression() as start, upper=cst.BaseExpression() as end, step=None)
                )
            ],
        ):
            return (
                assigned_once(root, name) is cut
                and innermost(root, cut, *LOOPS) is loop
                and not _is_used_between(loop.body, name, cut, test)
                and not _changes(root, loop, rows)
                and _begins_inside(root, loop, rows, start, end)
            )
    return False


def _is_used_between(body: cst.CSTNode, name: str, cut: cst.CSTNode, test: cst.CSTNode) -> bool:
    """Whether a slice is used before it is tested, or tested before it is cut."""
    uses = (each for each in value_names(body) if each.value == name)
    asked = {id(each) for each in below(test)}
    return not precedes(body, cut, test) or any(
        precedes(body, cut, each) and precedes(body, each, test) for each in uses if id(each) not in asked
    )


def _changes(root: cst.CSTNode, loop: cst.For, rows: str) -> bool:
    """Whether what is cut may have become shorter since it was counted."""
    if _bindings(loop, rows):
        return True
    calls = (each.func for each in of_class(root, cst.Call))
    shrinks = (each for each in calls if isinstance(each, cst.Attribute) and each.attr.value in _SHRINK)
    deleted = (name for each in of_class(root, cst.Del) for name in names_in(each))
    return any(last_name(each.value) == rows for each in shrinks) or rows in deleted


def _begins_inside(
    root: cst.CSTNode, loop: cst.For, rows: str, start: cst.BaseExpression, end: cst.BaseExpression
) -> bool:
    """Whether each step of a loop begins before the end of what it cuts, and ends after it has begun."""
    match loop.target, _steps(root, loop.iter):
        case cst.Name(counter), [cst.Arg(cst.Integer("0")), cst.Arg(length), cst.Arg(size)]:
            begin: cst.BaseExpression = loop.target
            is_inside = _same(root, start, begin) and _is_length(root, length, rows)
        case cst.Name(counter), [cst.Arg(steps)]:
            size_of = _size_of_steps(root, _meaning(root, steps), rows)
            if size_of is None:
                return False
            size, begin = size_of, start
            is_inside = _is_product(root, start, loop.target, size)
        case _:
            return False
    kept = {counter, *names_in(size)}
    is_kept = all(not _bindings(loop.body, each) for each in kept)
    return is_kept and is_inside and _ends_after(root, begin, end, loop.target, size, rows)


def _steps(root: cst.CSTNode, node: cst.BaseExpression) -> list[cst.Arg]:
    """The arguments of the `range` that a loop goes through, maybe with a bar that shows it."""
    match node:
        case cst.Call(func=cst.Name("range" | "trange"), args=args):
            return [each for each in args if each.keyword is None]
        case cst.Call(func=func, args=[first, *_]) if last_name(func) == "tqdm" and first.keyword is None:
            return _steps(root, first.value)
    return []


def _size_of_steps(root: cst.CSTNode, steps: cst.BaseExpression, rows: str) -> cst.BaseExpression | None:
    """By what the length of `rows` is divided for a number of steps, rounded up or down; None for other numbers."""
    match steps:
        case cst.Call(func=func, args=[cst.Arg(cst.BinaryOperation(left=length, operator=cst.Divide(), right=size))]):
            return size if last_name(func) in ("ceil", "floor", "int") and _is_length(root, length, rows) else None
        case cst.Call(func=cst.Name("int"), args=[cst.Arg(inner)]):
            return _size_of_steps(root, inner, rows)
        case cst.BinaryOperation(left=total, operator=cst.FloorDivide(), right=size):
            is_counted = _is_length(root, total, rows) or _is_rounded_up(root, _meaning(root, total), size, rows)
            return size if is_counted else None
    return None


def _is_rounded_up(root: cst.CSTNode, total: cst.BaseExpression, size: cst.BaseExpression, rows: str) -> bool:
    """Whether a number gives the number of steps once it is divided."""
    raised = raised_for_division(total)
    return raised is not None and _is_length(root, raised.number, rows) and _same(root, raised.divisor, size)


def _ends_after(
    root: cst.CSTNode,
    start: cst.BaseExpression,
    end: cst.BaseExpression,
    counter: cst.BaseExpression,
    size: cst.BaseExpression,
    rows: str,
) -> bool:
    """Whether a slice ends a step after its start, or at the end of what is cut."""
    match _meaning(root, end):
        case cst.Call(func=cst.Name("min"), args=[cst.Arg(one), cst.Arg(other)]):
            ends = (one, other)
            return any(_is_length(root, each, rows) for each in ends) and any(
                _ends_after(root, start, each, counter, size, rows) for each in ends
            )
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return any(
                _same(root, begin, start) and _same(root, added, size)
                for begin, added in ((left, right), (right, left))
            )
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return any(
                _is_next(root, turn, counter) and _same(root, factor, size)
                for turn, factor in ((left, right), (right, left))
            )
    return False


def _is_next(root: cst.CSTNode, node: cst.BaseExpression, counter: cst.BaseExpression) -> bool:
    """`step + 1`."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=cst.Integer("1")):
            return _same(root, left, counter)
    return False


def _is_product(
    root: cst.CSTNode, node: cst.BaseExpression, counter: cst.BaseExpression, size: cst.BaseExpression
) -> bool:
    match _meaning(root, node):
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return any(
                _same(root, one, counter) and _same(root, other, size) for one, other in ((left, right), (right, left))
            )
    return False


def _is_length(root: cst.CSTNode, node: cst.BaseExpression, rows: str) -> bool:
    """Whether an expression is the length of what is cut, and not of what had its name before."""
    match _meaning(root, node):
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(cst.Name(name))]) as length:
            bound = _bindings(root, rows)
            return name == rows and len(bound) <= 1 and all(precedes(root, each, length) for each in bound)
    return False


def _same(root: cst.CSTNode, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether two expressions are written alike, where names stand for what they are assigned."""
    one, other = _bare(one), _bare(other)
    return one.deep_equals(other) or _bare(_meaning(root, one)).deep_equals(_bare(_meaning(root, other)))


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression without the parentheses around it."""
    return node.with_changes(lpar=(), rpar=()) if hasattr(node, "lpar") and node.lpar else node


def _meaning(root: cst.CSTNode, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a name stands for, if it is assigned once."""
    for _ in range(_DEPTH):
        value = assigned_once(root, node.value) if isinstance(node, cst.Name) else None
        if value is None or not isinstance(node, cst.Name) or node.value in loop_targets(root):
            break
        node = value
    return node


def _bindings(code: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """Where code binds a name, or changes what it is bound to."""
    targets: list[cst.CSTNode] = [each.target for each in of_class(code, cst.AssignTarget)]
    targets += (each.target for each in of_class(code, cst.AnnAssign))
    targets += (each.target for each in of_class(code, cst.AugAssign))
    targets += (each.target for each in of_class(code, cst.For))
    targets += (each.target for each in of_class(code, cst.NamedExpr))
    return [target for target in targets if name in {each.value for each in value_names(target)}]

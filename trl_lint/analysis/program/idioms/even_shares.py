"""Shares of a list that have the same length on all ranks: the list was cut to a multiple of the world size before.

    aligned = len(rows) // world_size * world_size
    rows = rows[:aligned]
rows = rows[rank::world_size]             the same number on each rank

The same holds for `rows[: len(rows) - len(rows) % world_size]`, for `rows[rank:aligned:world_size]` itself, and for
blocks of a quotient that is rounded down:

    each = len(rows) // world_size
    rows = rows[rank * each : (rank + 1) * each]

A list that is made longer by rows of its own is, as in `DistributedSampler`, made as long as that:

    rows += rows[:missing]

A number of rows that an object has may be such a multiple:

    self.total_size = self.num_samples * self.num_replicas
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assigned_once, assignments, of_class, resolved, used_names
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, MULTIPLE_OF_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo


def is_even(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a slice takes every n-th element of a list whose length is a multiple of n, or a block of the n-th part.

    root: the function (or module) of the subscript.
    """
    share = _slice_of(node)
    if share is None or not isinstance(node, cst.Subscript):
        return False
    if share.step is None:
        return _is_block(root, share)
    if share.upper is not None:
        return is_multiple(root, share.upper, share.step)
    cuts = (_slice_of(each) for each in _definitions(root, node.value))
    is_cut = any(
        cut is not None and cut.lower is cut.step is None and is_multiple(root, cut.upper, share.step) for cut in cuts
    )
    return is_cut or (isinstance(node.value, cst.Name) and node.value.value in _padded_names(root))


# Asked for each share of a function in turn.
@tree_cache(64)
def _padded_names(root: cst.CSTNode) -> frozenset[str]:
    """The lists that a function makes longer by rows of their own: `+=`, `rows = rows + …`, or `rows.extend(…)`."""
    added: list[tuple[cst.CSTNode, cst.BaseExpression]] = [
        (each.target, each.value) for each in of_class(root, cst.AugAssign)
    ]
    for target, value in assignments(root):
        match value:
            case cst.BinaryOperation(left=cst.Name() as rows, operator=cst.Add(), right=more):
                added += [(rows, more)] if target.deep_equals(rows) else []
    for call in of_class(root, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name("extend")), args=[cst.Arg(value=more)]):
                added.append((owner, more))
    return frozenset(
        rows.value for rows, more in added if isinstance(rows, cst.Name) and rows.value in used_names(more)
    )


def is_multiple_on(cls: ClassInfo, number: cst.Attribute, of: cst.Attribute) -> bool:
    """Whether one attribute is a multiple of another in all objects of a class."""
    if not number.value.deep_equals(of.value):
        return False
    found = [
        is_multiple(each.node, value, of)
        for each in cls.project_lineage()
        for target, value in assignments(each.node)
        if target.deep_equals(number)
    ]
    if found:
        return all(found)
    return DISTRIBUTED_SAMPLER in cls.library_bases() and (number.attr.value, of.attr.value) == MULTIPLE_OF_SAMPLER


def is_multiple(root: cst.CSTNode, number: cst.BaseExpression | None, of: cst.BaseExpression) -> bool:
    """Whether a number is computed as a multiple of another.

    root: the function (or module or class) in which it is.
    """
    if isinstance(number, cst.Name):
        number = assigned_once(root, number.value)
    match number:
        case cst.BinaryOperation(operator=cst.Multiply()):
            return any(each.deep_equals(of) for each in _factors(number))
        case cst.BinaryOperation(left=whole, operator=cst.Subtract(), right=cst.BinaryOperation() as rest):
            divisors = _factors(rest.right) if isinstance(rest.operator, cst.Modulo) else ()
            return rest.left.deep_equals(whole) and any(each.deep_equals(of) for each in divisors)
    return False


def _slice_of(node: cst.CSTNode) -> cst.Slice | None:
    """The slice of a subscript that consists of one slice."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice() as found)]):
            return found
    return None


def _definitions(root: cst.CSTNode, items: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The expression of a list, and what this function assigns to its name."""
    yield items
    if isinstance(items, cst.Name):
        yield from (value for target, value in assignments(root) if target.deep_equals(items))


def _is_block(root: cst.CSTNode, share: cst.Slice) -> bool:
    """Whether the bounds are a quotient apart that is rounded down: `start : start + each`, with `each` from `//`."""
    if share.lower is None or share.upper is None:
        return False
    lower, upper = (resolved(root, bound) for bound in (share.lower, share.upper))
    match upper:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            starts = [share.lower, lower]
            sizes = [size for one, size in ((left, right), (right, left)) if _is_one_of(one, starts)]
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            pairs = ((left, right), (right, left))
            sizes = [size for count, size in pairs if _is_next(lower, count, size)]
        case _:
            return False
    return any(_is_quotient(resolved(root, each)) for each in sizes)


def _is_one_of(number: cst.BaseExpression, others: list[cst.BaseExpression]) -> bool:
    return any(_plain(number).deep_equals(_plain(each)) for each in others)


def _is_next(lower: cst.BaseExpression, count: cst.BaseExpression, size: cst.BaseExpression) -> bool:
    """Whether a bound is `rank * size`, and a count `rank + 1`."""
    match _plain(count):
        case cst.BinaryOperation(left=rank, operator=cst.Add(), right=cst.Integer("1")):
            factors = list(_factors(lower))
            return len(factors) == 2 and _is_one_of(rank, factors) and _is_one_of(size, factors)
    return False


def _is_quotient(number: cst.BaseExpression) -> bool:
    """`a // b`, or `int(a / b)`."""
    match _plain(number):
        case cst.BinaryOperation(operator=cst.FloorDivide()):
            return True
        case cst.Call(func=cst.Name("int"), args=[cst.Arg(value=cst.BinaryOperation(operator=cst.Divide()))]):
            return True
    return False


def _plain(number: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without its parentheses."""
    return number.with_changes(lpar=(), rpar=()) if number.lpar else number


def _factors(number: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(number, cst.BinaryOperation) and isinstance(number.operator, cst.Multiply):
        yield from (*_factors(number.left), *_factors(number.right))
    else:
        yield number.with_changes(lpar=(), rpar=()) if isinstance(number, cst.BinaryOperation) else number

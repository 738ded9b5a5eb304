"""How many rows a rank has of those that are dealt out: on some ranks one more than on others, if the rest is not cut.

Each of these may be longer on some ranks than on others:

    rows[rank::size], range(rank, len(rows), size), islice(rows, rank, None, size)
    [row for i, row in enumerate(rows) if i % size == rank]
    rows[rank * each : (rank + 1) * each]         with `each = math.ceil(len(rows) / size)`, for example
    range(len(rows) // size + (rank < len(rows) % size))
    rows[start : len(rows) if rank == size - 1 else start + each]

None of these is:

    rows[: len(rows) // size * size][rank::size]  as many on each rank
    assert len(rows) % size == 0                  and so are those of which the code has looked how many are left
    rows[rank::size]                              of rows of a call that knows the number of ranks: `pad(rows, size)`
    range(rank, args.samples, size)               of a number that the settings choose, or that is written out
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.idioms import even_shares
from trl_lint.analysis.program.idioms.rounding import raised_for_division
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    definitions_around,
    last_name,
    of_class,
    resolved,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state import containers
from trl_lint.analysis.transfer.data.fitted_rows import counted_in, counts_rows, is_fitted, is_made_up_for
from trl_lint.analysis.transfer.data.own_shares import is_turn
from trl_lint.analysis.transfer.data.places_of_shares import cut_rows, is_rank_at, is_size
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import IterableValue, LoaderValue, is_none
from trl_lint.domain.ranks import DEALT_BY_RANK, Rank, State
from trl_lint.domain.values import Kind

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def of_item(frame: Frame, node: cst.CSTNode, index: Value, item: Value) -> Value:
    """A part of rows: its number may differ between ranks, if it is what is left to a rank of those that are dealt."""
    if isinstance(node, cst.Subscript) and (item.rank.is_by_rank or item.is_unknown) and is_dealt(frame, node):
        return item.replace(rank=DEALT_BY_RANK) if item.rank.differs else derived(DEALT_BY_RANK, Kind.UNKNOWN, index)
    return item


def is_dealt(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a subscript is the share of a rank, of rows that are not known to be cut to a multiple."""
    return isinstance(node, cst.Subscript) and _is_share(frame, node) and not is_made_up_for(frame, node)


def _is_share(frame: Frame, node: cst.Subscript) -> bool:
    match node:
        case cst.Subscript(value=rows, slice=[cst.SubscriptElement(slice=cst.Slice(lower, upper, step))]):
            if lower is None or even_shares.is_even(frame.root, node):
                return False
            if step is not None:
                return is_rank_at(frame, lower) and is_size(frame, step) and _may_be_left_over(frame, rows, step)
            return _is_block(frame, lower, upper) and not is_fitted(frame, rows, None)
    cut = cut_rows(frame, node)
    return cut is not None and _may_be_left_over(frame, cut, None)


def of_range(frame: Frame, node: cst.CSTNode, length: Rank) -> Rank:
    """The number of turns of a loop over a `range`: of the rank's rows, or of those of a share."""
    ends = [each.value for each in node.args] if isinstance(node, cst.Call) else []
    if _is_range_of_share(frame, ends):
        return length if is_made_up_for(frame, node) else DEALT_BY_RANK
    counted = counted_in(ends[min(len(ends) - 1, 1)]) if ends else None
    value = None if counted is None else frame.known_value(counted)
    return DEALT_BY_RANK if value is not None and _differs(_length(frame, value)) else length


def _is_range_of_share(frame: Frame, ends: list[cst.BaseExpression]) -> bool:
    match ends:
        case [start, end, step] if _is_strided(frame, start, step):
            is_open = not even_shares.is_multiple(frame.root, end, step) and counts_rows(frame, end)
            return is_open and _may_be_left_over(frame, end, step)
        case [start, end]:
            return _is_block(frame, start, end) and not _goes_on_after_rows(frame, end)
        case [end]:
            return _has_one_more(frame, end)
    return False


def _goes_on_after_rows(frame: Frame, end: cst.BaseExpression) -> bool:
    """Whether a block of numbers is as large on all ranks, as it need not end with the rows: `(rank + 1) * each`.

    A slice of that block does end with them.
    """
    is_of_some = _has_one_more(frame, end) or _ends_with_rows(frame, end)
    return not is_of_some and not any(
        last_name(each.func) == "min" for each in of_class(resolved(frame.root, end), cst.Call)
    )


def _is_strided(frame: Frame, start: cst.BaseExpression, step: cst.BaseExpression) -> bool:
    """`rank` and `size`, or both times the same number: `rank * batch` and `size * batch`."""
    if is_rank_at(frame, start) and is_size(frame, step):
        return True
    match resolved(frame.root, start), resolved(frame.root, step):
        case (
            cst.BinaryOperation(operator=cst.Multiply()) as first,
            cst.BinaryOperation(operator=cst.Multiply()) as second,
        ):
            return any(
                is_rank_at(frame, rank) and is_size(frame, size) and one.deep_equals(other)
                for rank, one in ((first.left, first.right), (first.right, first.left))
                for size, other in ((second.left, second.right), (second.right, second.left))
            )
    return False


def of_turns(frame: Frame, node: cst.BaseComp, length: Rank, selected: Rank) -> Rank | None:
    """The number of rows of a comprehension that pass a test like `i % size == rank`; None for other tests."""
    tests = [each.test for each in node.for_in.ifs]
    if len(tests) != 1 or length.differs or not selected.is_by_rank or not is_turn(frame, tests[0]):
        return None
    sizes = [each.right for each in of_class(tests[0], cst.BinaryOperation) if isinstance(each.operator, cst.Modulo)]
    is_open = len(sizes) == 1 and is_size(frame, sizes[0]) and not _is_looked_at(frame, sizes[0])
    return DEALT_BY_RANK if is_open and not is_made_up_for(frame, node) else None


def of_sliced(frame: Frame, args: Arguments, start: Value) -> Rank:
    """The number of rows of `islice(rows, rank, None, size)`."""
    rows, end, step = args.nodes.get(0), args.positional[2], args.nodes.get(3)
    is_plain = start.rank.is_by_rank and is_none(end)
    if is_plain and rows is not None and step is not None and is_size(frame, step.value):
        return DEALT_BY_RANK if _may_be_left_over(frame, rows.value, step.value) else ranks.nonlinear(start.rank)
    return ranks.nonlinear(start.rank)


def first_of(frame: Frame, args: Arguments, rows: Value) -> Value:
    """The rows of `islice(rows, most)`: if some ranks have more, all may have as many of these."""
    if len(args.positional) < _WITH_MOST or not _differs(_length(frame, rows)) or is_none(args.positional[-1]):
        return rows
    element, _ = containers.iterate(frame, rows)
    return IterableValue(ranks.SAME, element, ranks.UNKNOWN)


# How many arguments of `islice` tell where it ends.
_WITH_MOST = 2


def of_yields(frame: Frame) -> Rank:
    """How many values a generator gives: as many as there are rows in the loop that yields them, if all are dealt.

    As many on all ranks, if it yields one for each element of what is as long on all of them: `log_every(loader)`.
    """
    found = [each for each in of_class(frame.root, cst.Yield) if definitions_around(frame.root, each)[-1] is frame.root]
    if len(found) != 1:
        return ranks.UNKNOWN
    around = ancestors(frame.root, found[0])
    loops = [each for each in around if isinstance(each, LOOPS)]
    lengths = list(_lengths_of_yield(frame, found[0], loops))
    is_tested = any(isinstance(each, (cst.If, cst.IfExp, cst.Match)) for each in around)
    if is_tested or not all(_differs(each) or (each is not None and each.state is State.SAME) for each in lengths):
        return ranks.UNKNOWN
    if any(map(_differs, lengths)):
        is_left = all(isinstance(each, cst.For) or _is_left_after(each) for each in loops)
        return DEALT_BY_RANK if is_left else ranks.UNKNOWN
    is_for_each = bool(lengths) and all(isinstance(each, cst.For) for each in loops)
    return ranks.SAME if is_for_each and not any(map(partial(of_class, frame.root), _LEAVES)) else ranks.UNKNOWN


def _lengths_of_yield(frame: Frame, node: cst.Yield, loops: list[cst.For | cst.While]) -> Iterator[Rank | None]:
    """How long that is which the loops around a `yield` go through, and what it yields from."""
    gone_through = [each.iter for each in loops if isinstance(each, cst.For)]
    gone_through += [node.value.item] if isinstance(node.value, cst.From) else []
    return (_length(frame, frame.value_of(each)) for each in gone_through)


# What may leave out an element.
_LEAVES = (cst.Break, cst.Continue, cst.Return, cst.Try)


def _is_left_after(loop: cst.For | cst.While) -> bool:
    """Whether a `while` is left when a loop in it has ended, so that nothing is yielded again."""
    return any(
        isinstance(one, cst.For) and isinstance(after, cst.SimpleStatementLine) and _leaves(after)
        for block in of_class(loop, cst.IndentedBlock)
        for one, after in pairwise(block.body)
    )


def _leaves(line: cst.SimpleStatementLine) -> bool:
    return any(isinstance(each, (cst.Break, cst.Return)) for each in line.body)


def _length(frame: Frame, value: Value) -> Rank | None:
    if value.rank.how == ranks.DEALT:
        return value.rank
    if isinstance(value, IterableValue):
        return value.length
    if isinstance(value, LoaderValue):
        return value.batches[1]
    lengths = [each.length for each in frame.memory.cells(value)]
    return lengths[0] if len(lengths) == 1 else None


def _differs(length: Rank | None) -> bool:
    return length is not None and length.how == ranks.DEALT


def _may_be_left_over(frame: Frame, rows: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether nothing shows that all ranks get as many of some rows, or that they are a rank's own before."""
    dealt = frame.value_of(counted_in(rows) or rows).rank
    if dealt.differs or dealt.is_reduced or _is_looked_at(frame, size):
        return False  # a rank's own before, or gathered from all of them
    return not is_fitted(frame, rows, size)


def _is_looked_at(frame: Frame, size: cst.BaseExpression | None) -> bool:
    """Whether the function asks how many rows would be left: `len(rows) % size`, also to deal them out otherwise."""
    return any(
        is_size(frame, each.right) or (size is not None and each.right.deep_equals(size))
        for each in _remainders(frame.root)
    )


# Asked for each share of a function in turn.
@tree_cache(64)
def _remainders(root: cst.CSTNode) -> tuple[cst.BinaryOperation, ...]:
    """The remainders in a function, but for those that are compared with the number of a rank: `i % size == rank`."""
    turns = {
        id(each.left)
        for each in of_class(root, cst.Comparison)
        if len(each.comparisons) == 1 and not isinstance(each.comparisons[0].comparator, cst.Integer)
    }
    found = (each for each in of_class(root, cst.BinaryOperation) if isinstance(each.operator, cst.Modulo))
    return tuple(each for each in found if id(each) not in turns)


def _is_block(frame: Frame, lower: cst.BaseExpression, upper: cst.BaseExpression | None) -> bool:
    """Whether the block of a rank is larger on some ranks: the first ones, the last one, or all but the last ones."""
    if upper is None or not frame.value_of(lower).rank.is_by_rank:
        return False
    if any(_has_one_more(frame, each) for each in (lower, upper)) or _ends_with_rows(frame, upper):
        return True
    match resolved(frame.root, lower):
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            pairs = ((left, right), (right, left))
            sizes = [resolved(frame.root, each) for rank, each in pairs if is_rank_at(frame, rank)]
        case _:
            return False
    return any(_is_rounded_up(frame, each) for each in sizes)


def _has_one_more(frame: Frame, number: cst.BaseExpression) -> bool:
    """Whether a number is larger on the first ranks, by one of what is left: `n // size + (rank < n % size)`."""
    if not frame.value_of(number).rank.is_by_rank:
        return False
    return any(
        is_rank_at(frame, rank) and _is_left_over(frame, rest)
        for rank, rest in _compared_pairs(resolved(frame.root, number))
    )


def _compared_pairs(number: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The two sides of `rank < rest` and `min(rank, rest)` in a number."""
    for each in of_class(number, cst.Comparison):
        match each.comparisons:
            case [cst.ComparisonTarget(operator=cst.LessThan(), comparator=rest)]:
                yield each.left, rest
    for call in of_class(number, cst.Call):
        match call:
            case cst.Call(func=cst.Name("min"), args=[cst.Arg(value=left), cst.Arg(value=rest)]):
                yield left, rest


def _is_left_over(frame: Frame, number: cst.BaseExpression) -> bool:
    """`n % size`, also as the second part of `divmod(n, size)`."""
    match resolved(frame.root, number):
        case cst.BinaryOperation(operator=cst.Modulo(), right=size):
            return is_size(frame, size)
        case cst.Name(name):
            return any(
                isinstance(target, cst.Tuple)
                and isinstance(value, cst.Call)
                and last_name(value.func) == "divmod"
                and len(target.elements) == len(value.args) == 2
                and last_name(target.elements[1].value) == name
                and is_size(frame, value.args[1].value)
                for target, value in assignments(frame.root)
            )
    return False


def _ends_with_rows(frame: Frame, upper: cst.BaseExpression) -> bool:
    """Whether the last rank gets all that is left: `len(rows) if rank == size - 1 else (rank + 1) * each`."""
    match resolved(frame.root, upper):
        case cst.IfExp(test=test, body=whole):
            return _is_last(frame, test) and not frame.value_of(whole).rank.differs
    return False


def _is_last(frame: Frame, test: cst.BaseExpression) -> bool:
    match test:
        case cst.Comparison(
            left=rank,
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.Equal(),
                    comparator=cst.BinaryOperation(left=size, operator=cst.Subtract(), right=cst.Integer("1")),
                )
            ],
        ):
            return is_rank_at(frame, rank) and is_size(frame, size)
    return False


def _is_rounded_up(frame: Frame, number: cst.BaseExpression) -> bool:
    """`math.ceil(n / size)`, `-(-n // size)`, `(n + size - 1) // size`."""
    match number:
        case cst.Call(func=func, args=[cst.Arg(value=cst.BinaryOperation(operator=cst.Divide(), right=size))]):
            return last_name(func) == "ceil" and is_size(frame, size)
        case cst.UnaryOperation(
            operator=cst.Minus(), expression=cst.BinaryOperation(cst.UnaryOperation(), cst.FloorDivide(), size)
        ):
            return is_size(frame, size)
        case cst.BinaryOperation(left=whole, operator=cst.FloorDivide(), right=size):
            raised = raised_for_division(whole)
            return is_size(frame, size) and raised is not None and raised.divisor.deep_equals(size)
    return False

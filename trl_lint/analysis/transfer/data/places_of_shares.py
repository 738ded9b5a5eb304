"""Places of rows that the number of a rank decides, so that each rank has a share of all rows of its own.

For example:

    rows[rank::size], rows[rank:][::size]
    rows[rank * workers + worker :: size * workers]            with a part of the share for each worker of a loader
    rows[rank * each : (rank + 1) * each]                      with `each = len(rows) // size`
    rows.chunk(size)[rank], np.array_split(rows, size)[rank]   one of as many pieces as there are ranks
    if i % size == rank                                        the turn of a rank
    for i in range(rank, len(rows), size)                      the numbers of its rows
    for i, row in enumerate(rows): if i % size != rank: …      its turns, in a loop over all rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, innermost, last_name, of_class
from trl_lint.analysis.transfer.data.own_shares import is_turn
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.ranks import DEALT
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.python import PASS_ON
from trl_lint.knowledge.sharding import CUTS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.control import Control
    from trl_lint.domain.values import Value


def is_share(frame: Frame, share: cst.Slice, node: cst.Subscript) -> bool:
    """`rank::size`, `rank:` and then `::size`, or a block of the rows that is as large as those of the other ranks.

    Each worker of a loader may have its own part of the share: `rank * workers + worker :: size * workers`.
    """
    if share.lower is None:
        match node.value:
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice(lower=start, upper=None, step=None))]):
                is_rest = start is not None and is_rank_at(frame, start)
                return is_rest and share.upper is None and share.step is not None and is_size(frame, share.step)
        return False
    if share.step is not None:
        is_plain = is_rank_at(frame, share.lower) and is_size(frame, share.step)
        return is_plain or _is_for_workers(frame, share.lower, share.step)
    return share.upper is not None and any(
        is_rank_at(frame, one) and _is_quotient(frame, other) for one, other in _factors(frame, share.lower)
    )


def cut_rows(frame: Frame, piece: cst.Subscript) -> cst.BaseExpression | None:
    """The rows that are cut into as many pieces as there are ranks, of which each rank takes its own."""
    match piece.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=index))] if is_rank_at(frame, index):
            pieces = definition_of(frame, piece.value)
        case _:
            return None
    if not isinstance(pieces, cst.Call) or last_name(pieces.func) not in CUTS:
        return None
    match pieces:
        case cst.Call(args=[cst.Arg(value=rows, keyword=None), cst.Arg(value=count)]):
            return rows if is_size(frame, count) else None
        case cst.Call(func=cst.Attribute(value=rows), args=[cst.Arg(value=count)]):
            return rows if is_size(frame, count) else None
    return None


def _is_for_workers(frame: Frame, start: cst.BaseExpression, step: cst.BaseExpression) -> bool:
    """Whether the rows of a rank are dealt again, to as many parts as those of all ranks are multiplied by."""
    first = definition_of(frame, start)
    terms = [first]
    if isinstance(first, cst.BinaryOperation) and isinstance(first.operator, cst.Add):
        terms = [first.left, first.right]
    return any(
        is_size(frame, size) and is_rank_at(frame, rank) and parts.deep_equals(workers)
        for size, workers in _factors(frame, step)
        for term in terms
        for rank, parts in _factors(frame, term)
    )


def _factors(frame: Frame, node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    number = definition_of(frame, node)
    if isinstance(number, cst.BinaryOperation) and isinstance(number.operator, cst.Multiply):
        yield number.left, number.right
        yield number.right, number.left


def _is_quotient(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a number is that of the rows, divided by that of the ranks."""
    number = definition_of(frame, node)
    divisions = (cst.FloorDivide, cst.Divide)
    return any(
        isinstance(each.operator, divisions) and is_size(frame, each.right)
        for each in of_class(number, cst.BinaryOperation)
    )


def definition_of(frame: Frame, node: cst.BaseExpression) -> cst.BaseExpression:
    """What a name is assigned, if only once; other expressions as they are."""
    if isinstance(node, cst.Name):
        values = [value for target, value in assignments(frame.root) if target.deep_equals(node)]
        return values[0] if len(values) == 1 else node
    return node


def is_turn_of_all(frame: Frame, test: cst.BaseExpression) -> bool:
    """`i % size == rank`."""
    if not is_turn(frame, test):
        return False
    return any(
        isinstance(each.operator, cst.Modulo) and is_size(frame, each.right)
        for each in of_class(test, cst.BinaryOperation)
    )


def dealt_in(frame: Frame, loop: cst.For) -> Iterator[cst.BaseExpression]:
    """The rows of which a loop goes through the share of a rank, by their numbers, or in its turns among all rows."""
    match _passed_on(loop.iter):
        case cst.Call(func=cst.Name("range"), args=[cst.Arg(value=start), cst.Arg(value=end), cst.Arg(value=step)]):
            match end:
                case cst.Call(cst.Name("len"), [cst.Arg(value=rows)]) if is_rank_at(frame, start):
                    yield from (rows,) if is_size(frame, step) else ()
        case cst.Call(func=cst.Name("enumerate"), args=[cst.Arg(value=rows), *_]):
            turns = (each.test for each in loop.body.body if isinstance(each, cst.If))
            if any(is_turn_of_all(frame, each) for each in turns):
                yield _passed_on(rows)


def is_of_own_rows(frame: Frame, condition: Control) -> bool:
    """Whether each rank gets somewhere for its own rows, in a loop over its share, in which the rows are its own.

    for row in tqdm(rows[rank::size]): …
    for i in range(rank, len(rows), size): …
    for batch in loader: …                        of rows of which some ranks may have one more
    for i, row in enumerate(rows): if i % size == rank: …      no: `i` is known to be the same on all ranks
    """
    is_dealt = condition.rank.how == DEALT
    place = place_of(condition)
    root = condition.provenance.module.tree if is_dealt else frame.root
    loop = innermost(root, place, cst.For) if place is not None else None
    if loop is None or loop.iter is not place:
        return False
    if is_dealt:
        return True
    match _passed_on(loop.iter):
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice() as share)]) as rows:
            return is_share(frame, share, rows)
        case cst.Call(func=cst.Name("range")):
            return any(True for _ in dealt_in(frame, loop))
    return False


def _passed_on(iterable: cst.BaseExpression) -> cst.BaseExpression:
    """What a loop goes through, without what passes it on: `rows` of `tqdm(rows)`."""
    if isinstance(iterable, cst.Call) and iterable.args and last_name(iterable.func) in PASS_ON:
        return iterable.args[0].value
    return iterable


def is_rank_at(frame: Frame, node: cst.BaseExpression) -> bool:
    return is_rank(frame.known_value(node))


def is_rank(value: Value | None) -> bool:
    return value is not None and value.rank.is_by_rank


def is_size(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression is the number of all ranks."""
    return frame.value_of(node).const is WORLD_SIZE

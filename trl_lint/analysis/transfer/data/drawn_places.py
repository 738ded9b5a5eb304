"""What is picked at places that a rank has drawn, and what is made of it, is drawn as well.

order = list(range(len(rows)))
default_rng().shuffle(order)
first = [rows[i] for i in order[:100]]         DRAWN: other rows on each rank
data = [read(path) for path in first]          DRAWN: in another order, whatever `read` does
table.iloc[order]                              DRAWN
rows.select(order), rows.take(order)           DRAWN, of a data set or a table made in memory
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import below, last_name, resolved, used_names
from trl_lint.analysis.transfer.data import drawn_masks
from trl_lint.analysis.transfer.data.draws import differs_otherwise, draws_of
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import random_draws as table

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step

_OF_ROWS = (Kind.UNKNOWN, Kind.STRING, Kind.NUMBER, Kind.INSTANCE)


def at_place(frame: Frame, node: cst.Subscript, item: Value) -> Value:
    """What is read at a place that each rank has drawn: `rows[i]`, `table.iloc[order]`. item: any of these."""
    element = node.slice[0].slice
    index = frame.known_value(element.value) if isinstance(element, cst.Index) and len(node.slice) == 1 else None
    if index is None or not isinstance(element, cst.Index):
        return item
    draw = drawn_masks.of_index(frame, element.value) if index.rank.differs else None
    if draw is not None:
        return _drawn(frame, item, draw)
    if index.rank != ranks.DRAWN and index.kind is not Kind.CONTAINER:
        return item
    draw = next(draws_of(frame, [index]), None)
    return item if draw is None else _drawn(frame, item, draw)


def made_of_each(
    frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp, iterable: Value, element: Value
) -> Value:
    """An element that is made of each of the things that a rank has drawn, in their order: `[read(p) for p in drawn]`.

    A function out of sight may give the same for all of them, but not if it gives rows. A set has no order.
    """
    if isinstance(node, cst.SetComp):
        draw = _of_part(frame, node.for_in.iter)
    else:
        draw = None if iterable.kind is Kind.LOADER else next(draws_of(frame, [iterable]), None)
    draw = draw or next((found for each in node.for_in.ifs if (found := _of_members(frame, each.test))), None)
    if draw is None or used_names(node.for_in.target).isdisjoint(used_names(node.elt)):
        return element
    return _drawn(frame, element, draw)


def of_members(frame: Frame, name: str, node: cst.CSTNode, value: Value) -> Value:
    """Whether the items of a column are among drawn ones: `table["cluster"].isin(held_out)`."""
    if name != table.IS_AMONG or not isinstance(node, cst.Call) or len(node.args) != 1:
        return value
    draw = _of_part(frame, node.args[0].value)
    return value if draw is None else Value(ranks.DRAWN, provenance=draw)


def selected(frame: Frame, receiver: Value, name: str, args: Arguments, value: Value) -> Value:
    """What a method picks at drawn places: `rows.select(order)`, or what it gives anyway."""
    if name not in table.PICKS_AT or len(args.all()) != 1 or differs_otherwise(receiver.rank):
        return value
    (index,) = args.all()
    draw = next(draws_of(frame, [index]), None) if index.rank == ranks.DRAWN else None
    return value if draw is None else Value(ranks.DRAWN, provenance=draw)


def _of_members(frame: Frame, test: cst.BaseExpression) -> Step | None:
    """The draw of the things that a test asks for, such as `name not in held_out`, or of a number that it compares."""
    match test:
        case cst.Comparison(_, [cst.ComparisonTarget(cst.In() | cst.NotIn(), members)]):
            return _of_part(frame, members)
    return drawn_masks.of_test(frame, test, of_one=True)


def _of_part(frame: Frame, members: cst.BaseExpression) -> Step | None:
    """The draw of some of the things, not of all of them in another order: `held_out = set(names[:100])`.

    As they are where they are asked for: until then, all ranks may have agreed on those of one.
    """
    made = resolved(frame.root, members)
    if not any(map(_is_part, below(made))):
        return None
    value = frame.known_value(members if made is not members else _collected(members))
    return None if value is None else next(draws_of(frame, [value]), None)


def _is_part(node: cst.CSTNode) -> bool:
    """Whether an expression takes some of several things: `names[:100]`, `random.sample(names, 100)`."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice(lower=None, upper=None, step=None))]):
            return False
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice()), *_]):
            return True
        case cst.Call(func=func):
            return last_name(func) in table.DRAW_SOME
    return False


def _collected(members: cst.BaseExpression) -> cst.BaseExpression:
    """What a set is made of in place, as it is itself handed to the method that looks things up in it."""
    match members:
        case cst.Call(func=cst.Name("list" | "set" | "tuple"), args=[cst.Arg(star="", value=things)]):
            return things
    return members


def _drawn(frame: Frame, item: Value, draw: Step) -> Value:
    """A row that is drawn; of one with entries (`{"image": path, "label": 1}`), no more is known than that."""
    if isinstance(item, ContainerValue):
        is_row = all(each.kind in _OF_ROWS and not differs_otherwise(each.rank) for each in frame.memory.contents(item))
        return Value(ranks.DRAWN, provenance=draw) if is_row else item
    is_plain = item.kind in _OF_ROWS and not differs_otherwise(item.rank)
    return item.replace(rank=ranks.DRAWN, const=MISSING, provenance=draw) if is_plain else item

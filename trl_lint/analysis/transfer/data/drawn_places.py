"""What is picked at places that a rank has drawn, and what is made of it, is drawn as well.

order = list(range(len(rows)))
default_rng().shuffle(order)
first = [rows[i] for i in order[:100]]         DRAWN: other rows on each rank
data = [read(path) for path in first]          DRAWN: in another order, whatever `read` does
table.iloc[order]                              DRAWN
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import used_names
from trl_lint.analysis.transfer.data.draws import draws_of
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Kind, Value

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step

_OF_ROWS = (Kind.UNKNOWN, Kind.STRING, Kind.NUMBER, Kind.INSTANCE)


def at_place(frame: Frame, node: cst.Subscript, item: Value) -> Value:
    """What is read at a place that each rank has drawn: `rows[i]`, `table.iloc[order]`. item: any of these."""
    element = node.slice[0].slice
    index = frame.known_value(element.value) if isinstance(element, cst.Index) and len(node.slice) == 1 else None
    if index is None or (index.rank != ranks.DRAWN and index.kind is not Kind.CONTAINER):
        return item
    draw = next(draws_of(frame, [index]), None)
    return item if draw is None else _drawn(frame, item, draw)


def made_of_each(frame: Frame, node: cst.ListComp | cst.GeneratorExp, iterable: Value, element: Value) -> Value:
    """An element that is made of each of the things that a rank has drawn, in their order: `[read(p) for p in drawn]`.

    A function out of sight may give the same for all of them, but not if it gives rows.
    """
    draw = None if iterable.kind is Kind.LOADER else next(draws_of(frame, [iterable]), None)
    if draw is None or used_names(node.for_in.target).isdisjoint(used_names(node.elt)):
        return element
    return _drawn(frame, element, draw)


def _drawn(frame: Frame, item: Value, draw: Step) -> Value:
    """A row that is drawn; of one with entries (`{"image": path, "label": 1}`), no more is known than that."""
    if isinstance(item, ContainerValue):
        is_row = all(each.kind in _OF_ROWS and not each.rank.differs for each in frame.memory.contents(item))
        return Value(ranks.DRAWN, provenance=draw) if is_row else item
    is_plain = item.kind in _OF_ROWS and not item.rank.differs
    return item.replace(rank=ranks.DRAWN, const=MISSING, provenance=draw) if is_plain else item

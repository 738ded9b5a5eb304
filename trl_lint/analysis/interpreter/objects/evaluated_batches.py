"""Batches of an evaluation are marked as such, whether the loop goes through them or gets them by a call.

with torch.no_grad():
    for batch in loader:                    batch: Evaluated
        ...
    for row in rows[rank::size]:            row: Evaluated
        ...
    for _ in range(steps):
        x, y = loader.next_batch()          x, y: Evaluated, if they are this rank's own
        batch = next(batches)               the same
    [model(row) for row in rows[rank::size]]          row: Evaluated
        loss = compute(batch)               not marked itself, as it is computed from what is
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import TupleValue
from trl_lint.domain.provenance import Evaluated, steps
from trl_lint.domain.values import Kind, Value

_NEXT = "next"
# Kinds of rows that a rank takes by its number, and of their places: `for i in range(rank, len(rows), size)`.
_TAKEN = frozenset({Kind.NUMBER, Kind.TENSOR, Kind.UNKNOWN})


def given(frame: Frame, node: cst.Call, value: Value) -> Value:
    """The result of a call; marked if it is a batch that an evaluation gets by it."""
    loop = frame.loops[-1].evaluates if frame.loops else None
    if loop is None or not _gives_batch(frame, node):
        return value
    return marked(frame, loop, node, value)


def _gives_batch(frame: Frame, node: cst.Call) -> bool:
    """Whether a call gives something new: it is computed from nothing that is this rank's own."""
    if isinstance(node.func, cst.Name) and node.func.value == _NEXT:
        return True
    sources = [arg.value for arg in node.args]
    if isinstance(node.func, cst.Attribute):
        sources.append(node.func.value)
    return not any(frame.value_of(each).rank.differs for each in sources)


def marked(frame: Frame, loop: cst.CompFor | cst.For | cst.While, node: cst.CSTNode, value: Value) -> Value:
    """A rank-local batch, or a tuple with one, marked as evaluated. node: where it comes from.

    What a comprehension makes of rows, or a generator yields, is marked anew by the loop that goes through it.
    """
    if isinstance(value, TupleValue):
        return value.with_parts(tuple(marked(frame, loop, node, item) for item in value.items))
    is_batch = value.kind is Kind.BATCH or (value.kind in _TAKEN and value.rank.is_by_place)
    if not is_batch or not value.rank.differs:
        return value
    found = value.provenance or frame.step(node, "`{}` is this rank's own data")
    loops = [each.loop for each in steps(value.provenance) if isinstance(each, Evaluated)]
    if loops and (isinstance(loop, cst.CompFor) or not _hands_on(loops[0])):
        return value
    return value.replace(provenance=Evaluated(found.module, found.node, found.text, found.before, loop))


def _hands_on(loop: cst.CSTNode | None) -> bool:
    """Whether a loop only gives its rows to another one: `for batch in track(loader):`."""
    return isinstance(loop, cst.CompFor) or (loop is not None and bool(of_class(loop, cst.Yield)))

"""Totals that each rank adds up over its own share of some things, whatever computes what is added.

For example, where nothing is known of `score`:

    for i in range(rank, len(rows), size):
        value = score(rows[i])
        total += value                  this rank's own, as each has other things to go through
        scores.append(value)            so is each of these
        steps += 1                      as it is: that may be as many on each rank
        total += gathered(value)        unknown: it may be the sum over all ranks
        reduce_(value)                  likewise, if that is added afterwards
    for row in rows: total += score(row)    unknown, as `score` is
    for k in [(rank + i) % size for i in range(size)]:
        total += score(rows[k])         unknown: each rank begins at another place, and goes through all
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, assignments, last_name, of_class, resolved, used_names
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchValue
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.heuristics import EXCHANGES, MAY_REDUCE

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

_OWN = ranks.Rank(State.LOCAL, Origin.RANK | Origin.DATA)
_NUMBERS = frozenset({Kind.NUMBER, Kind.TENSOR, Kind.UNKNOWN})
_ROTATES = "roll"
_ADDED_UP = "each rank goes through its own share here"


def added_in(frame: Frame, added: cst.BaseExpression | None, value: Value) -> Value:
    """What is added to a total or a list: this rank's own if it is made of what a loop over its share goes through."""
    if value.kind not in _NUMBERS or value.rank != ranks.UNKNOWN or added is None:
        return value
    loop = next((each for each in _loops_around(frame, added) if _is_over_share(frame, each)), None)
    if loop is None or not _is_made_of(loop, added):
        return value
    step = frame.step(loop.iter, _ADDED_UP)
    if value.kind is Kind.UNKNOWN:
        return BatchValue(_OWN, provenance=step)
    return value.replace(rank=_OWN, provenance=step)


def _loops_around(frame: Frame, node: cst.CSTNode) -> Iterator[cst.For]:
    return (each for each in reversed(ancestors(frame.root, node)) if isinstance(each, cst.For))


def _is_over_share(frame: Frame, loop: cst.For) -> bool:
    """Whether the rank's number decides what a loop goes through, and not merely where it begins."""
    if _may_go_round(resolved(frame.root, loop.iter)):
        return False
    names = (frame.memory.names.get(name) for name in used_names(loop.target))
    return any(each is not None and each.rank.is_by_place for each in names)


def _may_go_round(rows: cst.BaseExpression) -> bool:
    """Whether something may be all things in another order: `order[rank:] + order[:rank]`, `np.roll(order, rank)`."""
    if any(last_name(each.func) == _ROTATES for each in of_class(rows, cst.Call)):
        return True
    operators = (each.operator for each in of_class(rows, cst.BinaryOperation))
    is_joined = isinstance(rows, cst.BinaryOperation) and isinstance(rows.operator, cst.Add)
    return is_joined or any(isinstance(each, cst.Modulo) for each in operators)


def _is_made_of(loop: cst.For, added: cst.BaseExpression) -> bool:
    """Whether something is computed from a loop's variable, and nothing on the way may reduce it."""
    used, parts = used_names(added), [added]
    given = list(assignments(loop.body))
    for target, value in reversed(given):
        if not used.isdisjoint(used_names(target)):
            used |= used_names(value)
            parts.append(value)
    in_parts = (call for part in parts for call in of_class(part, cst.Call))
    in_place = (call for call in of_class(loop.body, cst.Call) if _is_passed(call, used - used_names(loop.target)))
    if any(each.fits(last_name(call.func)) for call in (*in_parts, *in_place) for each in (EXCHANGES, MAY_REDUCE)):
        return False
    return not used.isdisjoint(used_names(loop.target))


def _is_passed(call: cst.Call, names: set[str]) -> bool:
    return any(isinstance(each.value, cst.Name) and each.value.value in names for each in call.args)

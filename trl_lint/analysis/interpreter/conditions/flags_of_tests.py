"""Flags that are set by a test of the rank: each of them is that test, under a name.

For example:

    first = False
    if rank == 0:
        first = True                             `first`: as `rank == 0`, true on a single process
    first = True if rank == 0 else False         the same
    other = rank != 0 or args.all                nothing: it is no flag that a test of the rank alone sets
    if rank == 0:
        first = found()                          nothing: what it is there is not known
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import on_single_process
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import ONE_PROCESS_FALSE, ONE_PROCESS_TRUE
from trl_lint.domain.control import Control
from trl_lint.domain.numbers import with_single_process_value
from trl_lint.domain.values import Value

_Key = TypeVar("_Key")


def note_after(
    frame: Frame,
    test: cst.BaseExpression,
    division: Control,
    values: dict[_Key, Value],
    ends: tuple[Mapping[_Key, Value], Mapping[_Key, Value]],
) -> None:
    """Note which of these values are flags that a test sets. ends: the values where it is true, and where it is not."""
    if division.rank.is_by_rank:
        taken, skipped = ends
        for key, value in list(values.items()):
            one, other = taken.get(key), skipped.get(key)
            if one is not None and other is not None and one is not other:
                values[key] = chosen(frame, test, (one, other), value)


def chosen(frame: Frame, test: cst.BaseExpression, values: tuple[Value, Value], joined: Value) -> Value:
    """The value that a test chooses, with what it is on a single process if it is True or False as the test is."""
    is_opposite = {each.const for each in values if isinstance(each.const, bool)} == {True, False}
    if not is_opposite or not joined.rank.is_by_rank:
        return joined
    known = frame.known_value(test)
    alone = None if known is None else on_single_process(known)
    if alone is None:
        return joined
    is_on = values[0].const is (alone is ONE_PROCESS_TRUE)
    return with_single_process_value(joined, ONE_PROCESS_TRUE if is_on else ONE_PROCESS_FALSE)

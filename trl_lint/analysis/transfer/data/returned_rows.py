"""Rows that a function returns: dealt to the ranks in it, or passed to it by a caller that has dealt them.

def make(rows, rank, size):
    return rows[rank::size], None          its callers get dealt rows first, and then nothing

def tokenized(rows):
    return rows.map(tokenize)              its callers get what they pass
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.transfer.data.dealt_rows import WHOLE, Dealing, DealtInRun, Passed, source

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame


class ReturnedRows:
    """What a run of a function returns of rows, by the place in a tuple."""

    def __init__(self) -> None:
        self.by_place: dict[int, Dealing | Passed] = {}


def keep_returned(frame: Frame, value: cst.BaseExpression) -> None:
    """Keep what a `return` gives to the callers; of several, one that deals."""
    parts = [(WHOLE, value)]
    if isinstance(value, cst.Tuple):
        parts = [(place, each.value) for place, each in enumerate(value.elements)]
    known = frame.trace.notes.of(ReturnedRows).by_place
    for place, part in parts:
        found = source(frame, part)
        if found is not None and not isinstance(known.get(place), Dealing):
            known[place] = found


def note_returned(frame: Frame, function: FunctionInfo, trace: EventTrace, node: cst.Call) -> None:
    """Note what a call of a function of the project returns, once that has run."""
    if trace is frame.trace:
        return
    run = frame.notes.of(DealtInRun)
    for place, found in trace.notes.of(ReturnedRows).by_place.items():
        if isinstance(found, Passed):
            argument = argument_for(function, node, found.parameter)
            own = None if argument is None else source(frame, argument, found.key)
        else:
            own = replace(found, call=node, loader=None, sampler=None)
        if own is not None:
            run.by_part[id(node), place] = own

"""Calls of one of several functions: what one of these shows of a process, and what it shows nothing of.

For example:

    commands = {"train": train, "export": export}
    commands[sys.argv[1]]()                           a process that gets to the trainer in `train` exports nothing

    def run(name): commands[name]()
    for name in names: run(name)                      it may get to both: `run` is called again
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trl_lint.analysis.state.event_trace import Edge, EventTrace

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo


def is_shown_by(trace: EventTrace, edge: Edge) -> bool:
    """Whether only what one call leads to shows that each process gets to a trace."""
    return not trace.entered_by_each and trace.shown_at.keys() == {edge[0]}


def is_shown_by_another(trace: EventTrace, edge: Edge, every: Sequence[EventTrace]) -> bool:
    """Whether only a call of one of several functions shows that each process gets to a trace, and another one does.

    every: all traces, among them those that call the function of this one.
    """
    if not is_shown_by(trace, edge):
        return False
    others = (summary.trace for other, summary in trace.calls.items() if other[0] == edge[0] and other != edge)
    return any(each.launched for each in others) and not _runs_again(trace.function, every)


def _runs_again(function: FunctionInfo | None, every: Sequence[EventTrace]) -> bool:
    """Whether a process may run a function several times: one that calls it does so again, or is run again itself."""
    todo, seen = [function], set[int]()
    while todo:
        called = todo.pop()
        if called is None or id(called) in seen:
            continue
        seen.add(id(called))
        for trace in every:
            calls = {edge for edge, summary in trace.calls.items() if summary.trace.function is called}
            if len(calls) > 1 or any(_is_in_loop(trace, edge[0]) for edge in calls):
                return True
            todo += [trace.function] if calls else []
    return False


def _is_in_loop(trace: EventTrace, node: int) -> bool:
    """Whether a node, of which the id is given, is in a loop of the code of a trace."""
    if trace.module is None:
        return False
    # Loads LibCST, which the command line starts without.
    from trl_lint.analysis.program.idioms.exclusive_places import nodes_in_loops

    return node in nodes_in_loops(trace.module.tree if trace.function is None else trace.function.node)

"""What runs on several processes because a command starts them all: `torchrun --nproc_per_node 8 run.py`.

Nothing in the program need show it: what its body calls is run by each of them, except with options that no such
command gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from trl_lint.analysis.state.event_trace import EventTrace, called_traces, never_started
from trl_lint.analysis.transfer.processes import command_options
from trl_lint.domain.provenance import Step


def add_reached(roots: Iterable[EventTrace], found: dict[int, Step | None], apart: dict[int, frozenset[int]]) -> None:
    """Add the traces that each process reaches so, by id, each with how it does, if nothing else shows that.

    apart: for each trace, the ids of the nodes that each process may not reach although it reaches the trace.
    """
    for root in roots:
        for each in called_traces(root):
            if each.by_command and id(each) not in found:
                _follow(each, found, apart)


def _follow(program: EventTrace, found: dict[int, Step | None], apart: dict[int, frozenset[int]]) -> None:
    given = frozenset[str]() if program.module is None else command_options.given_to(program.module)
    found[id(program)] = program.start
    todo = deque([program])
    while todo:
        trace = todo.popleft()
        if trace.module is not None:
            apart[id(trace)] = command_options.left_out(trace.module.tree, given)
        alone = never_started(trace) | apart.get(id(trace), frozenset())
        for edge, summary in trace.calls.items():
            called = id(summary.trace)
            if called in found or edge[0] in alone or summary.trace.in_driver or trace.in_kernel:
                continue
            place = trace.places.get(edge)
            found[called] = found[id(trace)] if place is None else place.preceded_by(program.start)
            todo.append(summary.trace)

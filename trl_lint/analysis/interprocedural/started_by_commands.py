"""What runs on several processes because a command starts them all: `torchrun --nproc_per_node 8 run.py`.

Nothing in the program need show it: what its body calls is run by each of them, except with options that no such
command gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from trl_lint.analysis.state.event_trace import OF_EACH_PROCESS, EventTrace, called_traces, never_started
from trl_lint.analysis.transfer.processes import command_options
from trl_lint.domain.provenance import Step


def add_reached(roots: Iterable[EventTrace], found: dict[int, Step | None], apart: dict[int, frozenset[int]]) -> None:
    """Add the traces that each process reaches so, by id, each with how it does, if nothing else shows that.

    apart: for each trace, the ids of the nodes that each process may not reach although it reaches the trace.
    """
    for each in roots:
        start = None if id(each) in found else _start(each, found)
        if start is not None:
            _follow(each, start, found, apart)


def _start(program: EventTrace, found: dict[int, Step | None]) -> Step | None:
    """What shows that several processes run a program, if that matters for anything in it.

    How it is started is looked up in all files of the project, which takes time.
    """
    if program.program is None or program.module is None:
        return None
    others = (run for run in called_traces(program) if id(run) not in found)
    if not any(type(event) in OF_EACH_PROCESS for run in others for event in run.events.values()):
        return None
    file = program.module.engines().started_on_several
    return Step(program.module, program.program, f"`{file}` starts several processes of it") if file else None


def _follow(program: EventTrace, start: Step, found: dict[int, Step | None], apart: dict[int, frozenset[int]]) -> None:
    given = () if program.module is None else command_options.given_to(program.module)
    found[id(program)] = start
    left: dict[int, frozenset[int]] = {}
    todo = deque([program])
    while todo:
        trace = todo.popleft()
        if trace.module is not None:
            key = id(trace.module)
            left[key] = left[key] if key in left else command_options.left_out(trace.module, given)
            apart[id(trace)] = left[key]
        alone = never_started(trace) | apart.get(id(trace), frozenset())
        for edge, summary in trace.calls.items():
            called = id(summary.trace)
            if called in found or edge[0] in alone or summary.trace.in_driver or trace.in_kernel:
                continue
            place = trace.places.get(edge)
            found[called] = found[id(trace)] if place is None else place.preceded_by(start)
            todo.append(summary.trace)

"""All traces that a trace leads to: its own, those of its callees, and so on."""

from __future__ import annotations

from trl_lint.analysis.state.event_trace import EventTrace


def called_traces(trace: EventTrace) -> list[EventTrace]:
    """A trace and all that it leads to, each once."""
    found: dict[int, EventTrace] = {}
    todo = [trace]
    while todo:
        each = todo.pop()
        if id(each) not in found:
            found[id(each)] = each
            todo.extend(summary.trace for summary in each.calls.values())
    return list(found.values())

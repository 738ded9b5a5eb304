"""Which code a training step reaches: what a forward computes elsewhere has no gradients that anybody waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from trl_lint.analysis.events import Event, ModelCalled, ParameterRead, Trace


def trained(roots: Iterable[Trace]) -> set[int]:
    """The ids of the traces that belong to a training step.

    A library's hook for it starts one; elsewhere a backward pass shows it: in the function itself, in what it calls,
    or in the one that called it.
    """
    every = _all_of(roots)
    callers: dict[int, list[Trace]] = {}
    for trace in every:
        for callee in _callees(trace):
            callers.setdefault(id(callee), []).append(trace)
    found = _closure((trace for trace in every if trace.backward or trace.trains), _callees)
    above = _closure((trace for trace in every if trace.backward), lambda trace: callers.get(id(trace), ()))
    return found | above


def told(trace: Trace, trains: bool) -> Iterator[Event]:
    """The events of one run, with what its callers are."""
    for event in trace.events.values():
        known = isinstance(event, (ModelCalled, ParameterRead))
        yield replace(event, trains=True) if trains and known else event


def _callees(trace: Trace) -> list[Trace]:
    return [summary.trace for summary in trace.calls.values()]


def _all_of(roots: Iterable[Trace]) -> list[Trace]:
    found: dict[int, Trace] = {}
    todo = list(roots)
    while todo:
        trace = todo.pop()
        if id(trace) not in found:
            found[id(trace)] = trace
            todo.extend(_callees(trace))
    return list(found.values())


def _closure(start: Iterable[Trace], step: Callable[[Trace], Iterable[Trace]]) -> set[int]:
    found: set[int] = set()
    todo = list(start)
    while todo:
        trace = todo.pop()
        if id(trace) not in found:
            found.add(id(trace))
            todo.extend(step(trace))
    return found

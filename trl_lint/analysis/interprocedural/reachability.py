"""Which code a training step reaches: what a forward computes elsewhere has no gradients that anybody waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from trl_lint.analysis.events import (
    CollectiveCalled,
    DatasetPrepared,
    Event,
    EventTrace,
    ModelCalled,
    ParameterRead,
)


def trained(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that belong to a training step.

    A library's hook for it starts one; elsewhere a backward pass shows it: in the function itself, in what it calls,
    or in the one that called it.
    """
    every = _all_of(roots)
    callers: dict[int, list[EventTrace]] = {}
    for trace in every:
        for callee in _callees(trace):
            callers.setdefault(id(callee), []).append(trace)
    found = _closure((trace for trace in every if trace.backward or trace.trains), _callees)
    above = _closure((trace for trace in every if trace.backward), lambda trace: callers.get(id(trace), ()))
    return found | above


def stepping(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that train, for one of their callers, on a batch that a prepared loader has handed out."""
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    todo = [(trace, False) for trace in roots]
    while todo:
        trace, steps = todo.pop()
        steps = steps or trace.steps
        if (id(trace), steps) in seen:
            continue
        seen.add((id(trace), steps))
        if steps:
            found.add(id(trace))
        todo.extend((summary.trace, trace.stepping.get(edge, steps)) for edge, summary in trace.calls.items())
    return found


def built(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that are reached while a trainer is being built."""
    return _closure((trace for trace in roots if trace.builds), _callees)


def told(trace: EventTrace, trains: bool, steps: bool, builds: bool) -> Iterator[Event]:
    """The events of one run, with what its callers are."""
    for event in trace.events.values():
        if isinstance(event, DatasetPrepared) and event.holds_trainer and not builds:
            continue  # each rank has a cache file of its own
        if trains and isinstance(event, (ModelCalled, ParameterRead)):
            yield replace(event, trains=True)
        elif steps and isinstance(event, CollectiveCalled) and event.stepping is None:
            yield replace(event, stepping=True)
        else:
            yield event


def _callees(trace: EventTrace) -> list[EventTrace]:
    return [summary.trace for summary in trace.calls.values()]


def _all_of(roots: Iterable[EventTrace]) -> list[EventTrace]:
    found: dict[int, EventTrace] = {}
    todo = list(roots)
    while todo:
        trace = todo.pop()
        if id(trace) not in found:
            found[id(trace)] = trace
            todo.extend(_callees(trace))
    return list(found.values())


def _closure(start: Iterable[EventTrace], step: Callable[[EventTrace], Iterable[EventTrace]]) -> set[int]:
    found: set[int] = set()
    todo = list(start)
    while todo:
        trace = todo.pop()
        if id(trace) not in found:
            found.add(id(trace))
            todo.extend(step(trace))
    return found

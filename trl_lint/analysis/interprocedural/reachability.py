"""Which code a training step reaches: what a forward computes elsewhere has no gradients that anybody waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from trl_lint.analysis.events import (
    CollectiveCalled,
    DatasetDrawn,
    DatasetPrepared,
    Event,
    EventTrace,
    ModelCalled,
    ParameterRead,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project import Module


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


def unseeded(events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
    """These events, less the draws before which a program may have seeded, and those that no program is known to make.

    program: the run of the module's body, as a script. imported: the modules that it imports, which may seed as well.
    """
    drawn = [event for event in events if isinstance(event, DatasetDrawn)]
    if not drawn:
        return events
    known: set[int] = set()
    seen: set[tuple[int, frozenset[str]]] = set()
    before = frozenset[str]().union(*(module.trace.seeds for module in imported if module.trace is not None))
    todo = [(program, before)]
    todo += [(summary.trace, before | program.seeds) for run in program.runs for summary in run.summaries.values()]
    while todo:
        trace, seeds = todo.pop()
        if (id(trace), seeds) in seen:
            continue
        seen.add((id(trace), seeds))
        known.update(id(draw) for draw in trace.draws if draw.how.generator not in seeds | draw.seeded)
        todo.extend((summary.trace, seeds | trace.seeded[edge]) for edge, summary in trace.calls.items())
    return [event for event in events if not isinstance(event, DatasetDrawn) or id(event.draw) in known]


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

"""Which code a training step reaches: a forward elsewhere computes no gradients that have to be synchronised."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from trl_lint.analysis.events import CollectiveCalled, Event, Logged
from trl_lint.analysis.interprocedural import started_by_commands
from trl_lint.analysis.interprocedural.chosen_calls import is_shown_by, is_shown_by_another
from trl_lint.analysis.program.definitions.drivers_of_ray import is_lone_actor
from trl_lint.analysis.state.event_trace import EventTrace, never_run_beside, never_started
from trl_lint.analysis.state.observing import Observers, Reached
from trl_lint.domain.provenance import GivenToLibrary, Step
from trl_lint.knowledge.backends import ACTOR_OF_RAY
from trl_lint.knowledge.library import shown_only_in

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.analysis.state.frame import Frame


def trained(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that belong to a training step.

    A library's hook for it starts one; elsewhere a backward pass shows it: in the function itself, in its callees, or
    in its caller.
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
    """The ids of the traces that, for one of their callers, train on a batch that a prepared loader has yielded."""
    found: set[int] = set()
    visited: set[tuple[int, bool]] = set()
    todo = [(trace, False) for trace in roots]
    while todo:
        trace, steps = todo.pop()
        steps = steps or trace.steps
        if (id(trace), steps) in visited:
            continue
        visited.add((id(trace), steps))
        if steps:
            found.add(id(trace))
        todo.extend((summary.trace, trace.stepping.get(edge, steps)) for edge, summary in trace.calls.items())
    return found


def built(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that are reached while a trainer is built."""
    return _closure((trace for trace in roots if trace.builds), _callees)


def called_back(roots: Iterable[EventTrace]) -> set[int]:
    """The ids of the traces that are reached from a function that a library was given."""
    return _closure((trace for trace in roots if trace.called_back), _callees)


def events_of(roots: Sequence[EventTrace], observers: Observers[Frame], project: Project) -> list[Event]:
    """The events of these runs and of all their callees, with what their callers show."""
    in_training, in_steps, in_building, in_given = trained(roots), stepping(roots), built(roots), called_back(roots)
    every = _all_of(roots)
    by_each, apart = _launched(roots)
    started_by_commands.add_reached(roots, by_each, apart)
    showing = _Showing(every)
    alone_with_ray = _of_lone_actors(roots, every, project)
    found = []
    for trace in every:
        name = id(trace)
        if name in alone_with_ray:
            continue
        is_launched, called = name in by_each, by_each.get(name)
        reached = Reached(
            name in in_training, name in in_steps, name in in_building, is_launched, called, name in in_given
        )
        elsewhere = reached._replace(launched=False)
        alone = apart.get(name, frozenset()) | (never_started(trace) if is_launched else frozenset())
        for event in trace.events.values():
            refine = observers.reached.get(type(event), _emitted_by_interpreter)
            known = refine(event, elsewhere if id(event.node) in alone else reached)
            if isinstance(known, Logged):
                known = showing.shown(known, name)
            if known is not None:
                found.append(known)
    return found


def _of_lone_actors(roots: Iterable[EventTrace], every: Sequence[EventTrace], project: Project) -> set[int]:
    """The ids of the traces that only the methods of lone actors of Ray lead to: in them, one process is all."""
    actors = {id(each) for each in every if _is_of_lone_actor(each, project)}
    if not actors:
        return actors
    starts = (each for each in roots if id(each) not in actors)
    others = _closure(starts, lambda trace: [each for each in _callees(trace) if id(each) not in actors])
    return {id(each) for each in every} - others


def _is_of_lone_actor(trace: EventTrace, project: Project) -> bool:
    cls = None if trace.function is None else trace.function.cls
    return cls is not None and cls.module.mentions(ACTOR_OF_RAY, "remote") and is_lone_actor(project, cls)


class _Showing:
    """Which runs belong to a function in which, or in whose helpers, a sink shows metrics of all data."""

    def __init__(self, every: Iterable[EventTrace]) -> None:
        self._every = every
        self._reached: dict[frozenset[str], set[int]] = {}

    def shown(self, event: Logged, trace: int) -> Logged | None:
        """What a sink shows in this run, if it shows metrics of all data."""
        functions, others = shown_only_in(event.sink)
        if not functions or self._is_in(functions, trace):
            return replace(event, evaluates=True)
        return replace(event, evaluates=False) if event.evaluates is False or self._is_in(others, trace) else None

    def _is_in(self, functions: frozenset[str], trace: int) -> bool:
        if functions not in self._reached:
            starts = (each for each in self._every if each.name in functions)
            self._reached[functions] = _closure(starts, _callees)
        return trace in self._reached[functions]


def launched(roots: Iterable[EventTrace]) -> dict[int, Step | None]:
    """The ids of the traces that each process reaches, each with how it does.

    That is what shows that there are several processes, if it is in another function, and then the last call in another
    file on a shortest path.
    """
    return _launched(roots)[0]


# By the id of a trace, the ids of the nodes that each process may not reach although it reaches the trace.
_Apart: TypeAlias = dict[int, frozenset[int]]


def _launched(roots: Iterable[EventTrace]) -> tuple[dict[int, Step | None], _Apart]:
    """See `launched`; and what never runs in a process that gets to a place that shows that there are several."""
    every = _all_of(roots)
    starts = _starts(every)
    found: dict[int, Step | None] = {}
    excluded = ((id(trace), never_run_beside(trace)) for trace in starts)
    apart = {name: nodes for name, nodes in excluded if nodes}
    for in_kernel in (False, True):
        _follow([each for each in starts if each.in_kernel is in_kernel], every, found, apart, in_kernel)
    return found, apart


def _starts(every: Sequence[EventTrace]) -> list[EventTrace]:
    """The runs that show themselves that each process gets there.

    That ranks synchronise in a function shows nothing if a caller lets only some of them in, as the others answer
    elsewhere: `if rank == 0: lead()` with `else: follow()`. Another caller may be for one process.
    """
    divided = {id(trace.function) for trace in every if trace.of_some_ranks and trace.function is not None}
    return [each for each in every if each.launched or (each.of_all_ranks and id(each.function) not in divided)]


def _follow(
    starts: Sequence[EventTrace],
    every: Sequence[EventTrace],
    found: dict[int, Step | None],
    apart: _Apart,
    in_kernel: bool,
) -> None:
    """Add what these traces lead to. every: all traces.

    What a notebook's kernel calls in other files is not called by each process, nor is what drives the workers of Ray.
    """
    todo = deque((trace, trace.start) for trace in starts if id(trace) not in found)
    found.update((id(trace), start if isinstance(start, GivenToLibrary) else None) for trace, start in todo)
    while todo:
        trace, start = todo.popleft()
        alone = never_started(trace)
        for edge, summary in trace.calls.items():
            called = id(summary.trace)
            is_apart = edge[0] in apart.get(id(trace), ()) or (in_kernel and edge in trace.places)
            is_apart = (
                is_apart
                or summary.trace.in_driver
                or edge[0] in alone
                or (edge[0] in trace.choices and is_shown_by_another(trace, edge, every))
            )
            if is_apart or (called in found and (called not in apart or is_shown_by(trace, edge))):
                continue
            if called not in found:
                place = trace.places.get(edge)
                found[called] = (found[id(trace)] or start) if place is None else place.preceded_by(start)
            apart.pop(called, None)  # each process gets to all of it
            todo.append((summary.trace, start))


def _emitted_by_interpreter(event: Event, reached: Reached) -> Event:
    """An event that the interpreter itself has emitted."""
    if reached.steps and isinstance(event, CollectiveCalled) and event.stepping is None:
        return replace(event, stepping=True)
    if isinstance(event, Logged) and event.by_each and not reached.launched:
        return replace(event, by_each=False)
    return event


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

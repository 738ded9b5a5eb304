"""What a run of a function records: its own events, and the summaries of the functions that it calls."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from trl_lint.analysis.events import DatasetDrawn, Event, Logged, SideEffect, ValueLacked
from trl_lint.analysis.path_events import PathOfEachRank
from trl_lint.analysis.program.definitions import notebooks
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.domain.provenance import Step
from trl_lint.knowledge.backends import MAKES_WORKERS
from trl_lint.knowledge.process_starts import MAY_START_RANKS

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module

# A call: the ids of the node, of the function, and of the class of the object (0 if there is none), and the iterations
# of the unrolled loops around it, each of which may call the function with other facts.
Edge: TypeAlias = tuple[int, int, int, tuple[int, ...]]
# Events that count only where each process of a distributed run is known to get.
OF_EACH_PROCESS: frozenset[type[Event]] = frozenset({DatasetDrawn, Logged, PathOfEachRank, SideEffect, ValueLacked})


@dataclass(slots=True)
class EventTrace:
    """The events of one run of one function, by node: a later pass over a loop replaces those of an earlier one.

    Its calls are distinguished by node, function, class of the object, as several objects may be called at one, and
    iteration of an unrolled loop.
    """

    events: dict[Hashable, Event] = field(default_factory=dict)
    calls: dict[Edge, Any] = field(default_factory=dict)
    launched: bool = False  # whether each process of a distributed run is known to get here
    called_back: bool = False  # whether a library calls it that was given its function
    in_processes: bool = False  # whether it is run by processes that its file starts
    started: list[EventTrace] = field(default_factory=list)  # of the body of a file: the runs of what these run
    start: Step | None = None  # the place that shows this, or `of_all_ranks`, if it is known
    program: CSTNode | None = None  # the body of a file, or the only function of it that a command line calls
    of_all_ranks: bool = False  # the same, because all ranks synchronise in it, or because it asks for the rank
    of_some_ranks: bool = False  # whether ranks synchronise in it where its caller lets only some in: others answer
    shown_at: dict[int, CSTNode] = field(default_factory=dict)  # where it shows this itself, by id
    choices: set[int] = field(default_factory=set)  # the ids of calls, in no loop, of one of several functions
    entered_by_each: bool = False  # whether it is known before it begins
    shows: bool = False  # whether it passes anything to a sink, itself or in what it calls
    backward: bool = False  # whether it starts a backward pass itself
    trains: bool = False  # whether it is a hook that a library runs for its training step
    builds: bool = False  # whether it is the `__init__` of a class that a library runs
    name: str = ""  # that of the function
    function: FunctionInfo | None = None  # None for the body of a file
    notes: Notes = field(default_factory=Notes)
    steps: bool = False  # whether a library passes it the batches of a prepared loader, to train on
    places: dict[Edge, Step] = field(default_factory=dict)  # where it calls functions of another file
    stepping: dict[Edge, bool] = field(default_factory=dict)  # the same, in a loop over such a loader
    in_kernel: bool = False  # whether it is in a notebook, and only its kernel gets here
    module: Module | None = None  # the file with its code
    in_driver: bool = False  # whether it is a method of a class that drives the workers of Ray, in one process

    def launch(self, start: Step | None, at: CSTNode | None = None) -> None:
        """Note that each process of a distributed run gets here. start: the place that shows it.

        at: the place in this code where it is shown; None if that is known before it begins.
        """
        self.launched = True
        self.start = self.start or start
        if at is None:
            self.entered_by_each = True
        else:
            self.shown_at[id(at)] = at


def never_run_beside(trace: EventTrace) -> frozenset[int]:
    """The ids of the nodes that never run in a process that gets to a place of a trace that shows several processes."""
    if trace.entered_by_each or trace.module is None:
        return frozenset()
    # Loads LibCST, which the command line starts without.
    from trl_lint.analysis.program.idioms.exclusive_places import excluded_by_all

    return excluded_by_all(trace.module.tree, trace.shown_at.values())


def never_started(trace: EventTrace) -> frozenset[int]:
    """The ids of the nodes that a program which starts several processes runs on none of these."""
    if trace.launched or trace.module is None or not trace.module.mentions(MAY_START_RANKS):
        return frozenset()
    from trl_lint.analysis.program.idioms import started_where  # as above

    return started_where.never_started(trace.module.tree)


def trace_of(module: Module, function: FunctionInfo | None) -> EventTrace:
    """The empty trace of a function, or of the body of a module."""
    return EventTrace(
        name="" if function is None else function.name,
        function=function,
        in_kernel=notebooks.is_run_by_kernel(module, function),
        module=module,
        in_driver=_is_in_driver(module, function),
    )


def _is_in_driver(module: Module, function: FunctionInfo | None) -> bool:
    if function is None or function.cls is None or not module.mentions(MAKES_WORKERS):
        return False
    from trl_lint.analysis.program.definitions.drivers_of_ray import drives_workers  # as above

    return drives_workers(function.cls)


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

"""An analysis that is kept, and updated after the body of one function has changed.

    def f(x):
        y = g(x)           the text before
        return y

    def f(x):
        y = g(x)
        prin               a name is being typed: `f` is run again, for all its previous calls
        return y

If its effects on others are the same as before (its result, what it does to its arguments and to objects, its
synchronisation points, its callees), nothing else can have changed, and only its own events are new. Otherwise the
analysis has to start again; it also has to once there is time, to check the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.events import Event
from trl_lint.analysis.interprocedural.contexts import CalledWith
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.interprocedural.summaries import Summary
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.reparsing import ChangedBody
from trl_lint.analysis.program.project.structural_equality import same
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.sync_points import SyncPoint

# The attributes of a summary that others use, apart from what the run does to objects.
_COMPARED = (
    "result",
    "inputs",
    "final",
    "exchanged",
    "sync_points",
    "attribute_writes",
    "cell_writes",
    "constants",
    "pending_used",
)
# The same for its trace.
_COMPARED_IN_TRACE = ("of_all_ranks", "of_some_ranks", "launched", "shows", "backward", "notes")
# The attributes of a trace that the walk itself sets: those that enter the function set the rest.
_WALKED = ("events", "calls", "choices", "shown_at", "stepping")
_Key: TypeAlias = tuple[Hashable, ...]


class Interrupted(BaseException):
    """The result of the analysis is no longer needed."""


class _RunInput(NamedTuple):
    """The input and state with which a function was run."""

    called_with: CalledWith
    earlier_points: tuple[SyncPoint, ...]
    depth: int


class _Rerun(NamedTuple):
    """The result of running a function again. stored: what it stores elsewhere, see `Interpreter.note_stored`."""

    summary: Summary
    frame: Frame
    stored: list[tuple[object, ...]]


class RerunEngine(Engine):
    """An engine that records how each function was run, so that it can be run again."""

    def __init__(
        self,
        project: Project,
        versions: Mapping[str, str] | None = None,
        events: frozenset[type[Event]] | None = None,
    ) -> None:
        super().__init__(project, versions, events)
        self._run_inputs: dict[FunctionInfo, dict[_Key, _RunInput]] = {}
        self._frames: list[Frame] = []  # those of the functions that are running
        self._stored_notes: list[tuple[object, ...]] | None = None  # what the function that is run again notes
        self._last: Frame
        self._emitted: dict[int, int] = {}  # how many events each run has emitted: others may have been added
        self._baselines: dict[FunctionInfo, dict[_Key, _Rerun]] = {}
        self._entries: dict[Module, list[EventTrace]] = {}
        self._runs = 0
        # Nodes are identified by their ids, which must not be reused.
        self._changes: list[ChangedBody] = []
        # Called before each run of a function.
        self.is_interrupted: Callable[[], bool] = bool

    def _run(self, function: FunctionInfo, called_with: CalledWith) -> Summary:
        if self.is_interrupted():
            raise Interrupted
        self._runs += 1
        run_input = _RunInput(called_with.copied(), self.earlier_points, self.depth)
        summary = super()._run(function, called_with)
        self._last = self._frames.pop()
        self._emitted[id(summary.trace)] = len(summary.trace.events)
        self._run_inputs.setdefault(function, {})[called_with.key] = run_input
        return summary

    def note_stored(self, *what: object) -> None:
        if self._stored_notes is not None:
            self._stored_notes.append(what)

    def _frame(self, function: FunctionInfo, called_with: CalledWith) -> Frame:
        frame = super()._frame(function, called_with)
        self._frames.append(frame)
        return frame

    def _events(self, module: Module, roots: list[EventTrace]) -> list[Event]:
        self._entries[module] = roots
        return super()._events(module, roots)

    def analyse_again(self, module: Module, change: ChangedBody) -> list[Event] | None:
        """All events of a module after the body of a function has changed; None if a new analysis is needed.

        Raises:
            RecursionError: it is nested too deeply.
        """
        changed = [each for each in self._run_inputs if each.node is change.function]
        if len(changed) != 1 or module not in self._entries or change.function in self._called_by_module(module):
            return None
        (function,) = changed
        if any(len(each.trace.events) != self._emitted[id(each.trace)] for each in function.summaries.values()):
            return None
        reached_before = {each: each.reached for each in self._all_functions()}
        before = self._baseline(function)
        self._move_to_new_nodes(function, change)
        if not all(notes.hold() for notes in self._all_notes()):
            return None
        after = self._run_again(function)
        if before is None or after is None or len(before) != len(after):
            return None
        if self._entered or any(each.reached is not was for each, was in reached_before.items()):
            return None
        if not all(map(_has_same_effects, before.values(), after.values())):  # they have the same order
            return None
        # The contents of a container on an object are kept: that something is no longer written does not show.
        if any(run.summary.cell_writes for run in before.values()) and not change.keeps_writes():
            return None
        for key, run in after.items():
            summary = function.summaries[key]
            for name in _WALKED:
                setattr(summary.trace, name, getattr(run.summary.trace, name))
            self._emitted[id(summary.trace)] = len(run.summary.trace.events)
        self._baselines[function] = after
        return self.events_of(module)

    def events_of(self, module: Module) -> list[Event]:
        """All events of a module that was analysed before, from the latest run of each function."""
        return super()._events(module, self._entries[module])

    def _baseline(self, function: FunctionInfo) -> dict[_Key, _Rerun] | None:
        """The result of running a function again before it changes: more is known of objects than in its first run."""
        if function not in self._baselines:
            runs = self._run_again(function)
            if runs is None:
                return None
            self._baselines[function] = runs
        return self._baselines[function]

    @staticmethod
    def _called_by_module(module: Module) -> tuple[cst.FunctionDef, ...]:
        """Functions that the body of the module has called, which is not run again."""
        called = {function for _, function, *_ in module.trace.calls}
        return tuple(
            each.node for each in module.functions if id(each) in called and isinstance(each.node, cst.FunctionDef)
        )

    def _all_functions(self) -> Iterator[FunctionInfo]:
        yield from self._functions.values()
        for cls in set(self._classes.values()):
            yield from cls.methods.values()

    def _every_class(self) -> Iterator[ClassInfo]:
        for cls in set(self._classes.values()):
            yield from cls.with_allocation_sites()

    def _all_notes(self) -> Iterator[Notes]:
        yield self.project.notes
        modules = {each.module for each in self._all_functions()} | {each.module for each in self._classes.values()}
        yield from (module.notes for module in modules)

    def _move_to_new_nodes(self, function: FunctionInfo, change: ChangedBody) -> None:
        """Move what is known of the old nodes to the new ones."""
        self._changes.append(change)
        for cls in self._every_class():
            node = change.replacements.get(id(cls.node))
            if isinstance(node, cst.ClassDef):
                cls.node = node
                self._classes[id(node)] = cls.origin
                cls._assigned = cls._certain_attributes = None
            for by_writer in cls._assigned_values.values():
                by_writer.move(id(function.node), id(change.new))
        if self._functions.get(id(function.node)) is function:
            self._functions[id(change.new)] = self._functions.pop(id(function.node))
        function.node = change.new
        function.summaries = {(id(change.new), *key[1:]): each for key, each in function.summaries.items()}
        self._run_inputs[function] = {
            (id(change.new), *key[1:]): each for key, each in self._run_inputs[function].items()
        }

    def _run_again(self, function: FunctionInfo) -> dict[_Key, _Rerun] | None:
        """Run a function again for all its contexts; None if others had to be run for it, or have to be now."""
        known = dict(function.summaries)
        versions = [(cls, dict(cls._versions)) for cls in self._every_class()]
        found: dict[_Key, _Rerun] = {}
        ran = self._runs
        for key, run_input in list(self._run_inputs[function].items()):
            if key not in known:
                continue  # such calls were joined with others since
            self.earlier_points, self.depth = run_input.earlier_points, run_input.depth
            stored: list[tuple[object, ...]] = []
            self._stored_notes = stored
            summary = self._run(function, run_input.called_with._replace(key=key))
            found[key] = _Rerun(summary, self._last, stored)
            self._stored_notes = None
            self.earlier_points, self.depth = (), 0
        function.summaries = known
        is_unchanged = all(versions_of == cls._versions for cls, versions_of in versions)
        return found if is_unchanged and self._runs == ran + len(found) else None


def _has_same_effects(one: _Rerun, other: _Rerun) -> bool:
    """Whether two runs, one of which may replace the other, have the same effects on others."""
    first, second = one.summary, other.summary
    if {edge[1:3] for edge in first.trace.calls} != {edge[1:3] for edge in second.trace.calls}:
        return False
    if not all(same(getattr(first, name), getattr(second, name)) for name in _COMPARED):
        return False
    if not all(same(getattr(first.trace, name), getattr(second.trace, name)) for name in _COMPARED_IN_TRACE):
        return False
    if not same(one.stored, other.stored):
        return False
    a, b = one.frame.memory, other.frame.memory
    if first.cell_writes and not all(same(value, b.names.get(name)) for name, value in a.names.items()):
        return False  # it may have written something else into them
    return all(same(a.attributes.get(key), b.attributes.get(key)) for key in first.attribute_writes) and all(
        same(a.heap.get(identity), b.heap.get(identity)) for identity in first.cell_writes
    )

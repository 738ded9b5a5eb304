"""Runs of functions: once per facts of their arguments, summarised, and applied at each call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import libcst as cst

from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interpreter.calls import library_calls, registered_hooks
from trl_lint.analysis.interpreter.control_flow import process_exits, statements
from trl_lint.analysis.interpreter.objects import aliases, assignment
from trl_lint.analysis.interprocedural import (
    bound_by_decorated,
    decorators,
    early_exits_of_nothing,
    early_returns,
    passed_fields,
    returned_arguments,
    sampled_returns,
    shared_calls,
    stored_containers,
    wrapped_returns,
)
from trl_lint.analysis.interprocedural.binding import bind, expression_of, is_refused, lacks_argument
from trl_lint.analysis.interprocedural.contexts import (
    MAX_CONTAINERS,
    MAX_CONTEXTS,
    MAX_PLAIN,
    CalledWith,
    Context,
    has_many_contexts,
    joined_for,
    key_of,
    modes_for,
    unchanged_inputs,
    without_constants,
)
from trl_lint.analysis.interprocedural.definitions import Definitions
from trl_lint.analysis.interprocedural.rebasing import Rebasing, origins, renamed_cell, renamed_value
from trl_lint.analysis.interprocedural.recursion import BaseCases
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.settings_of_job import JobFlags
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import CalleeRun
from trl_lint.analysis.state.point_sequences import on_way_to
from trl_lint.analysis.transfer.data import dealt_lengths, seeded_orders
from trl_lint.analysis.transfer.models import frozen_models, gradients
from trl_lint.analysis.transfer.processes import absences, first_rank, job_flags
from trl_lint.domain import ranks
from trl_lint.domain.averaging import Mean
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.equality import same_contents
from trl_lint.domain.heap import Cell, Memory, join_cells, note_held, reachable, reachable_from
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import NONE, Identity, IterableValue
from trl_lint.domain.provenance import Returned
from trl_lint.domain.sync_points import SyncPoint
from trl_lint.domain.values import BOTTOM, NO_WRITES, UNKNOWN, Kind, Value

# How deep calls are followed.
MAX_DEPTH = 14
# The maximum number of runs of a function for the same facts because attributes that it reads have changed: in the
# rounds of a class, and elsewhere, where a meter may be read before its updates, after them, and after a reduction.
MAX_RUNS = 2
MAX_RUNS_IN_ORDER = 4
# The maximum number of nested runs of a recursive function, each with different facts.
MAX_RECURSION = 2
# The maximum number of runs of nested functions, in one run of the function around them: loops around their calls run
# several times, and so do the loops in each of them, which may call others.
MAX_INLINED = 200
# Methods that run once for each object: they cannot have read from it what they write to it.
_RUN_ONCE = frozenset({"__init__", "__post_init__"})


@dataclass(slots=True, eq=False, repr=False)
class Summary:
    """One run of one function: what it returns and does, for given facts of its arguments."""

    result: Value = BOTTOM
    returned: tuple[Value, ...] = ()  # by each of its `return`s
    # The containers that it has created, by their places.
    allocations: dict[Hashable, Identity] = field(default_factory=dict)
    inputs: list[Identity] = field(default_factory=list)
    entered: Mapping[Identity, Cell] = field(default_factory=dict)  # the inputs as they were
    unchanged: frozenset[Identity] = frozenset()  # the inputs that it leaves as they are
    names: dict[str, Value] = field(default_factory=dict)
    argument_sources: dict[int, str] = field(default_factory=dict)  # see `rebasing.origins`
    final: dict[Identity, Cell] = field(default_factory=dict)
    exchanged: dict[str, Value] = field(default_factory=dict)  # arguments that it has changed for its callers
    trace: EventTrace = field(default_factory=EventTrace)
    sync_points: tuple[list[SyncPoint], Control] = field(default_factory=lambda: ([], UNIFORM))
    dependencies: dict[tuple[ClassInfo, str | Identity], int] = field(default_factory=dict)
    attribute_writes: set[tuple[ClassInfo, str]] = field(default_factory=set)
    cell_writes: set[Identity] = field(default_factory=set)
    pending_used: bool = False
    round: int = 0
    runs: int = 0
    constants: Mapping[str, Value] = field(default_factory=dict)  # see `ObjectAccess.constants`
    ends: tuple[Control, ...] = ()  # see `process_exits.ends_in`
    early: ClassInfo | None = None  # the class on which it was run before the constructor of that class

    def is_current(self) -> bool:
        return all(cls.version(name) == version for (cls, name), version in self.dependencies.items())


def _noted_run(cls: ClassInfo | None, function: FunctionInfo) -> ClassInfo | None:
    """Note that a function runs on an object; the class of the object, if its constructor is still to run."""
    if cls is not None and function.name in _RUN_ONCE:
        cls.made, cls.awaits_constructor = True, False
    return cls if cls is not None and cls.awaits_constructor else None


class Runs(Definitions):
    """Calls functions whose source is available: by their summaries, or by running them."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        super().__init__(project, versions)
        self.depth = 0
        self.round = 0
        self.in_rounds = False  # whether the methods of a class are run until nothing changes
        self.engine_outcomes: dict[int, bool | None] = {}  # by condition; see `conditions.engine_outcome`
        self.means: dict[Hashable, Mean] = {}  # by the expression that computes it, or the call that returns it
        self.wraps_on_one_path = False
        self.job_flags = JobFlags()
        self.earlier_points: tuple[SyncPoint, ...] = ()
        self.caller_values: tuple[Mapping[int, Value], ...] = ()
        self._running: list[tuple[Hashable, ...]] = []
        self.base_cases = BaseCases()

    def note_stored(self, *what: object) -> None:
        """Called when a run of a function has stored something that outlasts it."""

    def call(
        self, frame: Frame, function: FunctionInfo, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> Value:
        """Call a function whose source is available: by its summary for these facts, or by running it."""
        if self.depth > MAX_DEPTH or is_refused(function, args, node, receiver):
            return UNKNOWN
        if self.custom:
            rows = self.custom_rows(function)
            if rows:
                return library_calls.apply(frame, rows, args, node, receiver)
        function.reached = True
        self.load(function.module)
        names = bind(frame, function, args, receiver)
        names.update(passed_fields.of_arguments(frame, function, args, receiver))
        names.update(frozen_models.of_object(frame, receiver))
        before, listed = len(frame.sync_points), aliases.listed_in(frame, args)
        earlier_points, caller_values = self.earlier_points, self.caller_values
        if frame.memory.control.uniformity is not Uniformity.UNIFORM:
            self.earlier_points = (*earlier_points, *on_way_to(frame.root, frame.sync_points, node))
            self.caller_values = (frame.node_values, *caller_values)
        try:
            if function.closure is not None or isinstance(function.node, cst.Lambda):
                value, exchanged = self._inline(frame, function, names, node)
            else:
                names, memory = shared_calls.entered_by_all(frame, function, names, args, node, receiver)
                value, exchanged = self._summarised(frame, function, names, memory, node, receiver)
        finally:
            self.earlier_points, self.caller_values = earlier_points, caller_values
        for name, argument in exchanged.items():
            expressions = expression_of(function, name, args, receiver)
            if expressions is not None:
                assignment.rebind(frame, expressions, argument)
        passed_fields.apply(frame, function, args, node, receiver, exchanged)
        frozen_models.note_call(frame, function, args, node, receiver is not None)
        aliases.rename_reduced(frame, listed)
        if function.first_rank:
            first_rank.note_context(frame, node, function.first_rank)
        if self.job_flags.starters:
            job_flags.note_call(frame, function, node, before)
        return UNKNOWN if lacks_argument(function, args, receiver) else value

    def _inline(
        self, frame: Frame, function: FunctionInfo, names: dict[str, Value], node: cst.CSTNode
    ) -> tuple[Value, dict[str, Value]]:
        """Run a nested function again at each call: it sees and may change what the enclosing function has."""
        key = ("inline", id(function.node))
        if self._running.count(key) > 1:
            return BOTTOM, {}
        frame.objects.inlined += 1
        if frame.objects.inlined > MAX_INLINED:
            return UNKNOWN, {}
        inner = Frame(self, function.module, function, None, function.closure, frame.memory.control)
        known = frame.memory
        inner.memory = Memory(dict(names), known.heap, known.attributes, known.control, frame.objects.kept)
        inner.objects, inner.key, inner.trace, inner.stepping = frame.objects, frame.key, frame.trace, frame.stepping
        inner.allocations, inner.called_at = frame.allocations, (*frame.called_at, id(node), frame.unroll_index)
        passed_fields.enter(inner)
        self._running.append(key)
        self.depth += 1
        value = self._run_body(inner, function)
        self.depth -= 1
        self._running.pop()
        frame.memory.heap, frame.memory.attributes = inner.memory.heap, inner.memory.attributes  # loops work on copies
        frame.pending_used |= inner.pending_used
        self._report_call(frame, function, CalleeRun(inner.sync_points, frame.memory.control, inner.trace), node)
        process_exits.note_call(frame, node, value, process_exits.ends_in(inner, frame.memory.control))
        changed = passed_fields.changed_for_caller(function, names, inner.memory.names)
        return self._explained(frame, value, function, node), changed

    def _run_body(self, frame: Frame, function: FunctionInfo) -> Value:
        """Run a function's body in a prepared frame. Return its result."""
        node = function.node
        if isinstance(node, cst.Lambda):
            frame.statement = node.body
            return expressions.evaluate(frame, node.body)
        before = gradients.decorated(frame.memory.control, function.decorators)
        decorated = decorators.entered_by(frame, function)
        entry = frame.memory.control = before.under(decorated)
        if statements.run_block(frame, node.body.body):
            frame.returned.append((NONE, frame.memory))
        for observe in frame.observers.exit:
            observe(frame, before, decorated)
        result: Value = BOTTOM
        memory: Memory | None = None
        divided = early_returns.dividing_fact(frame, entry)
        of_some = early_returns.attributes_of_some_ranks(frame, divided)
        for value, state in early_exits_of_nothing.ways_that_reduce(frame):
            if memory is not None and divided.is_by_rank:
                note_held((result, memory.heap), (value, state.heap))
            result = join(result, value, divided)
            memory = state if memory is None else memory.merge(state)
        result = early_returns.with_early_returns(frame, result, divided)
        result = early_returns.with_none_on_some(frame, result, divided)
        result = sampled_returns.with_sampled_way(frame, wrapped_returns.with_wrapped_way(frame, result))
        result = absences.of_returned(frame, entry, result)
        result = decorators.result_for_callers(frame, function, result, before, decorated)
        if memory is not None:
            frame.memory = memory
        early_returns.note_differing(frame, of_some, divided)
        bound_by_decorated.note(frame, function, before, decorated)
        if frame.yielded is not None:
            first_rank.note_manager(frame, function, entry)
            yielded = seeded_orders.as_drawn(frame, function.node, frame.yielded)
            return IterableValue(ranks.SAME, yielded, dealt_lengths.of_yields(frame), grad=gradients.at_yields(frame))
        return result

    def _summarised(
        self,
        frame: Frame,
        function: FunctionInfo,
        names: dict[str, Value],
        memory: Memory,
        node: cst.CSTNode,
        receiver: Value | None,
    ) -> tuple[Value, dict[str, Value]]:
        cls = class_of(receiver) or function.cls
        context = self._context(function, names, memory, cls)
        key = context.key
        if key in self._running or sum(other[0] == key[0] for other in self._running) >= MAX_RECURSION:
            return self.base_cases.result(frame, function), {}
        self._flush(frame)
        summary = function.summaries.get(key)
        if summary is None or not self._is_usable(summary):
            summary = self._run(function, CalledWith(key, context.names, context.inputs, cls, context.memory))
        edge = (id(node), id(function), 0 if cls is None else id(cls.origin), frame.unroll_index)
        frame.trace.calls[edge] = summary
        if function.module is not frame.module:
            frame.trace.places[edge] = frame.step(node, "called here: `{}`")
        if frame.stepping is not None:
            frame.trace.stepping[edge] = frame.stepping
        return self._instantiate(frame, summary, context, node, function), summary.exchanged

    def _context(
        self, function: FunctionInfo, names: dict[str, Value], memory: Memory, cls: ClassInfo | None
    ) -> Context:
        """The context in which a call runs: its own, one with less detail, or one that is shared with other calls."""
        inputs = self._inputs(names, memory)
        passed = (names, memory.heap)
        key = key_of(memory, function, names, cls)
        if key not in function.summaries and has_many_contexts(function, cls, inputs) and key not in self._running:
            names, memory = without_constants(names, inputs, memory)
            key = key_of(memory, function, names, cls)
            if key not in function.summaries and function.count_runs_on(cls) >= MAX_CONTEXTS + MAX_PLAIN:
                joined = joined_for(function, names, memory, cls, self.fresh)
                outgrown = joined.key
                represented = joined.join_call(names, memory)
                key = joined.key
                if key != outgrown:
                    function.summaries.pop(outgrown, None)
                assert joined.control is not None  # it has taken a call
                memory = Memory(joined.names, dict(joined.heap), memory.attributes, joined.control)
                return Context(key, dict(joined.names), memory, list(joined.heap), passed, represented, joined=True)
        return Context(key, names, memory, inputs, passed)

    def _is_usable(self, summary: Summary) -> bool:
        """Whether to use a run. If what it read has changed, one of this round of a class is checked by the next."""
        if self.in_rounds:
            return summary.round == self.round or summary.runs >= MAX_RUNS or summary.is_current()
        return summary.runs >= MAX_RUNS_IN_ORDER or summary.is_current()

    def _flush(self, frame: Frame) -> None:
        """Before a callee reads shared objects, publish what this run did to them."""
        if frame.objects.dirty or frame.objects.dirty_cells:
            frame.flush(frame.memory)

    def _inputs(self, names: dict[str, Value], memory: Memory) -> list[Identity]:
        found: dict[Identity, None] = {}
        for value in names.values():
            if value.kind in (Kind.CONTAINER, Kind.TUPLE, Kind.ITERABLE):
                for identity in reachable(value, memory.heap):
                    found[identity] = None
        return list(found)

    def _run(self, function: FunctionInfo, called_with: CalledWith) -> Summary:
        key, names, inputs = called_with.key, called_with.names, called_with.inputs
        summary, previous = Summary(early=_noted_run(called_with.cls, function)), function.summaries.get(key)
        self._running.append(key)
        self.depth += 1
        make, run = partial(self._frame, function, called_with), partial(self._run_body, function=function)
        frame, control, summary.result = self.base_cases.run(function, make, run)
        self.depth -= 1
        self._running.pop()
        frame.flush(frame.memory)
        if function.name in _RUN_ONCE:
            frame.objects.mark_read()
        summary.inputs, summary.returned = inputs, tuple(value for value, _ in frame.returned)
        summary.entered = {each: called_with.caller.heap[each] for each in inputs if each in called_with.caller.heap}
        summary.names = names
        summary.argument_sources = origins(names, called_with.caller.heap)
        summary.final = self._final(frame, summary.result, inputs)
        summary.unchanged = unchanged_inputs(inputs, called_with.caller.heap, summary.final)
        shared = {*inputs, *frame.objects.class_cells}
        if len(summary.final.keys() - shared) > MAX_CONTAINERS:  # each of its callers would get a copy of them
            summary.result = UNKNOWN
            kept = summary.final.keys() & shared
            summary.final = {each: cell.holding({}, UNKNOWN) for each, cell in summary.final.items() if each in kept}
        summary.exchanged = passed_fields.changed_for_caller(function, names, frame.memory.names)
        summary.trace, summary.sync_points = frame.trace, (frame.sync_points, control)
        summary.dependencies, summary.constants = frame.objects.dependencies, frame.objects.constants(frame.memory)
        summary.attribute_writes, summary.cell_writes = frame.objects.attribute_writes, frame.objects.cell_writes
        summary.pending_used, summary.ends = frame.pending_used, process_exits.ends_in(frame, control)
        function.pending_used |= frame.pending_used
        summary.round, summary.allocations = self.round, frame.allocations
        summary.runs = 1 if previous is None else previous.runs + 1
        function.summaries[key] = summary
        return summary

    def _frame(self, function: FunctionInfo, called_with: CalledWith) -> Frame:
        """The frame in which a function is run: it has the arguments, and what they reach."""
        caller, inputs = called_with.caller, called_with.inputs
        level = caller.control.uniformity
        control = caller.control if level or caller.control.engine or caller.control.first_rank else UNIFORM
        control = control.with_modes(modes_for(called_with.names, caller.control))
        frame = Frame(self, function.module, function, called_with.cls, None, control)
        frame.key = called_with.key
        if (previous := function.summaries.get(frame.key)) is not None:
            frame.allocations = previous.allocations  # so that containers it creates again do not count as new ones
        heap = {i: caller.heap[i] for i in inputs if i in caller.heap}
        frame.memory = Memory(dict(called_with.names), heap, {}, control, frame.objects.kept)
        frame.objects.constructs = function.name in _RUN_ONCE
        self._claim(frame, called_with.cls, inputs)
        passed_fields.enter(frame)
        frozen_models.enter_method(frame, called_with.cls)
        return frame

    def _claim(self, frame: Frame, cls: ClassInfo | None, inputs: Iterable[Identity]) -> None:
        """Containers that are passed may belong to an object: writes to them are writes to that object."""
        if isinstance(cls, ClassInfo):
            for each in cls.project_lineage():
                for identity in inputs:
                    if identity in each.heap:
                        frame.objects.class_cells[identity] = cls

    def _final(self, frame: Frame, result: Value, inputs: list[Identity]) -> dict[Identity, Cell]:
        heap = frame.memory.heap
        kept = {identity: heap[identity] for identity in inputs if identity in heap}
        found = (*reachable(result, heap), *self._inputs_of_cells(kept, heap))
        return kept | {each: heap[each] for each in found if each in heap}

    def _inputs_of_cells(self, cells: dict[Identity, Cell], heap: dict[Identity, Cell]) -> Iterator[Any]:
        yield from reachable_from((value for cell in cells.values() for value in cell.values()), heap)

    def _instantiate(
        self, frame: Frame, summary: Summary, context: Context, node: cst.CSTNode, function: FunctionInfo
    ) -> Value:
        """Apply a summary at a call: update the caller's state, and return the value of the call."""
        frame.objects.dependencies = {**summary.dependencies, **frame.objects.dependencies}
        frame.objects.attribute_writes |= summary.attribute_writes
        frame.trace.shows |= summary.trace.shows
        registered_hooks.keep_of_callee(frame, summary.trace)
        self._report_call(frame, function, CalleeRun(*summary.sync_points, summary.trace), node)
        process_exits.note_call(frame, node, summary.result, summary.ends)
        frame.forget(summary.attribute_writes, summary.cell_writes)
        frame.pending_used |= summary.pending_used and function.pending_used and self._passes_pending(frame)
        renamed = context.targets(summary.inputs)
        for identity in summary.final:
            if identity not in renamed:
                renamed[identity] = (self._renamed(frame, identity, node, context),)
        stored = stored_containers.loaded(frame, summary.final, {*summary.inputs, *summary.cell_writes})
        heap = frame.memory.heap
        # For joined calls, the names hold the explanations of the first ones.
        is_first_call = summary.names is context.names and not context.joined
        rebase = None if is_first_call else Rebasing(summary.argument_sources, *context.passed)
        for identity, cell in summary.final.items():
            if identity in stored or (
                identity in summary.unchanged and all(each in heap for each in renamed[identity])
            ):
                continue
            content = renamed_cell(cell, renamed, rebase)
            before = context.memory.heap.get(identity) if context.joined else None
            if before is not None and same_contents(cell, before):
                continue  # unchanged in all of the joined calls
            for target in renamed[identity]:
                if identity in summary.inputs and target in frame.objects.class_cells:
                    frame.touch(target)
                heap[target] = content if before is None or target not in heap else join_cells(heap[target], content)
        same = returned_arguments.returned_argument(function, context.passed[0]) if context.joined else None
        result = renamed_value(summary.result, renamed, rebase) if same is None else same
        return self._explained(frame, result, function, node)

    def _report_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        before = len(frame.sync_points)
        for observe in frame.observers.project_call:
            observe(frame, function, run, node)
        first_rank.note_waits(frame, frame.sync_points[before:])

    def _passes_pending(self, frame: Frame) -> bool:
        return any(value.pending for value in frame.memory.names.values())

    def _renamed(self, frame: Frame, identity: Identity, node: cst.CSTNode, context: Context) -> Any:
        """The caller's identity for a container that a callee created; containers on objects keep theirs."""
        if identity in frame.objects.class_cells or self._is_on_object(frame, identity):
            return identity
        return frame.container_at((id(node), *context.key[:2], self.site_of(identity), frame.unroll_index))

    def _is_on_object(self, frame: Frame, identity: Identity) -> bool:
        cls = frame.cls
        if cls is not None and any(identity in each.heap for each in cls.project_lineage()):
            frame.objects.class_cells[identity] = cls
            return True
        return False

    def _explained(self, frame: Frame, value: Value, function: FunctionInfo, node: cst.CSTNode) -> Value:
        """Add this call to the explanation of a result that differs between ranks."""
        for refine in frame.domains.returned:
            value = refine(frame, function, node, value)
        if value.rank.differs and value.provenance is not None and isinstance(node, cst.CSTNode):
            provenance = Returned(frame.module, node, f"returned by `{function.name}`", value.provenance)
            return value.replace(provenance=provenance, pending=NO_WRITES, const=value.const)
        return value

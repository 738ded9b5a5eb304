"""The interpreter's engine: where the analysis of a module enters its classes and functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import libcst as cst

from trl_lint.analysis.events import Event, StepReturned
from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interpreter.calls import calls, instantiation, row_transfers, sinks
from trl_lint.analysis.interpreter.control_flow import statements
from trl_lint.analysis.interprocedural import (
    annotated_only,
    closed_over,
    early_runs,
    epoch_outputs,
    launched_methods,
    reachability,
    run_by_all,
    unseen_makers,
)
from trl_lint.analysis.interprocedural.binding import bind, options_of, rest_from
from trl_lint.analysis.interprocedural.contexts import MAX_CONTEXTS, CalledWith, key_of
from trl_lint.analysis.interprocedural.function_order import callers_first, creators_first
from trl_lint.analysis.interprocedural.library_hooks import (
    added_switches,
    given_parameters,
    is_callback,
    is_from_overridden_hook,
    is_left_to_own_loop,
    logged_part,
)
from trl_lint.analysis.interprocedural.recursion import BaseCases
from trl_lint.analysis.interprocedural.summaries import MAX_DEPTH, Runs, Summary
from trl_lint.analysis.observers import all_observers, needed
from trl_lint.analysis.program.definitions import creations, templates, unit_tests
from trl_lint.analysis.program.definitions.loops_of_trainers import is_replaced_hook
from trl_lint.analysis.program.definitions.objects import ClassValue, ProjectInstance
from trl_lint.analysis.program.definitions.parameter_uses import by_name, by_use
from trl_lint.analysis.program.idioms.samplers import as_sharding
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, Parameter, is_module_class
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.given_functions import GivenFunction
from trl_lint.analysis.transfer.domains import all_domains, overriding
from trl_lint.domain.control import UNIFORM
from trl_lint.domain.heap import Cell, Memory
from trl_lint.domain.kinds import LoaderValue
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.provenance import GivenToLibrary, Step
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import library, lightning
from trl_lint.knowledge.schema import Hook
from trl_lint.knowledge.transformers import EVALUATION_HOOKS, LOOPS_OVER_STEPS, LOSSES

# The maximum number of times that the methods of a class run because an attribute they read has changed.
MAX_ROUNDS = 4


class _Entered:
    """The inherited methods that are run on a class because no known code calls them."""

    def __init__(self) -> None:
        self.methods: set[FunctionInfo] = set()


class Engine(Runs):
    """Analyses the modules of one project: the `Interpreter` that frames know.

    events: the event types that are requested; None: all of them. Observers that none of these needs do not run.
    """

    evaluate = staticmethod(expressions.evaluate)
    lookup = staticmethod(expressions.lookup)
    call_value = staticmethod(calls.call_value)
    call_property = staticmethod(calls.call_property)
    call_factory = staticmethod(instantiation.call_factory)
    unresolved = staticmethod(calls.unresolved)
    run_block = staticmethod(statements.run_block)

    def __init__(
        self,
        project: Project,
        versions: Mapping[str, str] | None = None,
        events: frozenset[type[Event]] | None = None,
    ) -> None:
        super().__init__(project, versions)
        self.domains = overriding(all_domains())
        self.observers = needed(all_observers(), events)
        self._asked = events
        self._entered: list[GivenFunction] = []

    def needs_event(self, kind: type[Event]) -> bool:
        """Whether any rule needs events of this type."""
        return self._asked is None or kind in self._asked

    def enter(self, passed: GivenFunction) -> None:
        """A function was passed to a library, which will call it."""
        self._entered.append(passed)

    def analyse(self, module: Module) -> list[Event]:
        """All events of a module: its body, its classes, and the functions that no known code calls.

        Raises:
            RecursionError: it is nested too deeply.
        """
        self.depth = 0
        self._running.clear()  # entries of an analysis that failed
        self.base_cases = BaseCases()
        self.load(module)
        if module.gave_up:
            raise RecursionError
        roots: list[EventTrace] = [module.trace]
        # Code that libraries call comes first; plain helpers run on their own only if no known code uses them.
        entries = [cls for cls in module.classes if self.is_entry_class(cls)]
        others = [cls for cls in module.classes if not self.is_entry_class(cls)]
        for cls in entries:
            self.analyse_class(cls)
            roots.extend(cls.traces)
        # The arguments of a plain class's constructor come from the functions that create an object of it.
        roots.extend(self._run_passed_functions())
        for function in creators_first(module, others):
            roots.append(self._run_unreached(function).trace)
        for cls in others:
            self.analyse_class(cls)
            roots.extend(cls.traces)
        roots.extend(self._run_passed_functions())
        for function in callers_first(module.functions):
            if not function.reached:
                roots.append(self._run_unreached(function).trace)
        roots.extend(self._run_passed_functions())
        return self._events(module, roots)

    def _events(self, module: Module, roots: list[EventTrace]) -> list[Event]:
        """The events of the runs that begin with these, once all are known."""
        events = reachability.events_of(roots, self.observers, self.project)
        module.trace.started = [each for each in roots if each.in_processes]
        for settle in self.observers.settled:
            events = settle(events, module.trace, self.imported(module))
        return events

    def _run_passed_functions(self) -> list[EventTrace]:
        traces = []
        while self._entered:
            passed = self._entered.pop()
            passed.function.reached = True
            summary = self._enter_with(passed.function, passed.cls, passed.parameters)
            passed.note_run(summary.trace)
            traces.append(summary.trace)
        return traces

    def note_used(self, cls: ClassInfo) -> None:
        """An object of a class is used; one that no code in sight makes was made by a run of its constructor."""
        cls.made = True
        constructor = unseen_makers.constructor_of(self, cls)
        if constructor is None or self.depth > MAX_DEPTH:
            return
        made, method = constructor
        outer, self.earlier_points, self.caller_values = (self.earlier_points, self.caller_values), (), ()
        self._enter_with(method, made, unseen_makers.arguments(self, made, method)).trace.builds = True
        self.earlier_points, self.caller_values = outer

    def _run_unreached(self, function: FunctionInfo) -> Summary:
        function.reached = True
        return self._enter_with(function, None, {})

    def _enter_with(
        self, function: FunctionInfo, cls: ClassInfo | None, parameters: Mapping[str, Value], frame: Frame | None = None
    ) -> Summary:
        """Run a function as a library would call it. frame: has the containers that it is passed."""
        frame = frame or Frame(self, function.module)
        names = closed_over.names(function) | self._entry_names(frame, function, cls, parameters)
        return self._enter_names(frame, function, cls, names)

    def _enter_names(
        self, frame: Frame, function: FunctionInfo, cls: ClassInfo | None, names: dict[str, Value]
    ) -> Summary:
        key = key_of(frame.memory, function, names, cls)
        summary = function.summaries.get(key)
        if summary is None or not self._is_usable(summary):
            inputs = self._inputs(names, frame.memory)
            summary = self._run(function, CalledWith(key, names, inputs, cls, frame.memory))
        return summary

    def _entry_names(
        self, frame: Frame, function: FunctionInfo, cls: ClassInfo | None, parameters: Mapping[str, Value]
    ) -> dict[str, Value]:
        """The parameters of an entry point: from the tables by name or position, otherwise from annotations."""
        names: dict[str, Value] = {}
        ordered = list(parameters.items())
        position = 0
        used: dict[str, Value] | None = None
        for index, parameter in enumerate(function.parameters):
            name = parameter.name
            if index == 0 and cls is not None and not function.is_static:
                names[name] = ClassValue(cls) if "classmethod" in function.decorators else ProjectInstance(cls)
                continue
            if parameter.star == "**":
                rest: dict[Hashable, Value] = {
                    key: self._traced(frame, parameter, value, key) for key, value in ordered if key not in names
                }
                rest.pop("*", None)
                star = rest.pop("**", options_of(function))
                names[name] = frame.allocate(parameter.node, Cell("dict", rest, star))
                continue
            if parameter.star == "*":
                names[name] = rest_from(parameters.get("*", UNKNOWN), position)
                continue
            value = parameters.get(name)
            if value is None and parameter.positional and position < len(ordered) and not is_callback(parameters):
                key, candidate = ordered[position]
                if not key.startswith("*") and key not in {each.name for each in function.parameters}:
                    value = candidate
            position += 1
            if value is None:
                value = unseen_makers.by_annotation(self, frame, parameter)
            if value is UNKNOWN:
                used = by_use(function) if used is None else used
                value = used.get(name) or by_name(function.module, name) or value
            value = self._as_setting(cls, function, name, as_sharding(function.module, name, value))
            value = self._traced(frame, parameter, value, name)
            is_given = name in parameters
            names[name] = value if is_given else annotated_only.on_trust(self.project, function, parameter, value)
        return names

    def _as_setting(self, cls: ClassInfo | None, function: FunctionInfo, name: str, value: Value) -> Value:
        """A parameter that is a setting, by its name or as an option of a command."""
        refined = settings.parameter_by_name(name, value)
        is_shared = refined is not value and not refined.rank.differs
        value = value if is_shared and self._may_differ(cls, function, name) else refined
        return settings.option(name, value) if function.is_command else value

    def _may_differ(self, cls: ClassInfo | None, function: FunctionInfo, name: str) -> bool:
        return cls is not None and function.name == "__init__" and creations.may_differ(self.project, cls, name)

    def _traced(self, frame: Frame, parameter: Parameter, value: Value, name: str) -> Value:
        value = row_transfers.opened(frame, value, (parameter.node, name))
        if value.rank.differs or wrapping_of(value) is Wrapping.WRAPPED:
            what = "number" if value.rank.origins == Origin.RANK else "data"
            text = f"`{name}` is this rank's own {what}" if value.rank.differs else f"`{name}` is the wrapped model"
            grad = value.grad and value.kind is not Kind.BATCH  # libraries pass data
            before = value.provenance if isinstance(value.provenance, GivenToLibrary) else None
            return value.replace(provenance=frame.step(parameter.node, text, before), grad=grad)
        if isinstance(value, LoaderValue) and value.batch is not None and value.batch.provenance is None:
            step = frame.step(parameter.node, f"`{name}` gives each rank its own batches")
            return value.with_parts(value.batch.replace(provenance=step), value.sampler)
        return value

    def analyse_class(self, cls: ClassInfo) -> None:
        """Run all methods of a class: its hooks as the library calls them, the rest with unknown arguments."""
        if cls.state != "new":
            return
        cls.state = "running"
        for base in cls.project_lineage():
            if base is not cls:
                self.load(base.module)
                self.analyse_class(base)
        self.in_rounds = True
        for _ in range(MAX_ROUNDS):
            self.round += 1
            summaries = list(self._class_roots(cls))
            if all(summary.is_current() for summary in summaries):
                break
        self.in_rounds = False
        run_by_all.note(self, cls)
        cls.traces = [summary.trace for summary in summaries]
        cls.traces.extend(self._logged_stores(cls))
        cls.traces.extend(self._returned_metrics(cls))
        cls.state = "done"

    def _class_roots(self, cls: ClassInfo) -> Iterator[Summary]:
        hooks = self._hooks_of(cls)
        first = ("__init__",)
        order = sorted(cls.methods, key=lambda name: (name not in first, name not in hooks, name in ("log",)))
        late: list[FunctionInfo] = []
        for name in order:
            method = cls.methods[name]
            if name in hooks and not is_left_to_own_loop(cls, name):
                yield self._enter_hook(cls, method, hooks[name])
                yield from self._called_by_bases(cls, method)
            elif name == "__init__" and method.reached and not self.is_entry_class(cls):
                yield from run_by_all.runs_of_constructor(cls)
            elif name == "__init__":
                summary = self._enter_with(method, cls, unseen_makers.arguments(self, cls, method))
                summary.trace.builds = True
                yield summary
            else:
                late.append(method)
        last = sorted(callers_first(late), key=lambda each: each.name == "log")
        for method, number in launched_methods.in_order(self, cls, last):
            contexts = list(self._called_by_bases(cls, method))
            yield from contexts
            if not contexts and not method.reached:
                passed, frame = epoch_outputs.arguments(self, cls, method, self._enter_with)
                yield self._enter_with(method, cls, {**passed, **number}, frame)
            elif not contexts:
                yield from (summary for summary in method.summaries.values() if not summary.is_current())
        yield from self._enter_inherited(cls)
        self._repeat_early_runs(cls)
        for name, rows in hooks.items():
            inherited = None if name in cls.methods else cls.find(name)
            if inherited is not None and (inherited.shows or self.is_mixed_in(inherited.cls, cls)):
                yield self._enter_hook(cls, inherited, rows)

    def _repeat_early_runs(self, cls: ClassInfo) -> None:
        """Run methods again that have run before the constructor of the class; see `early_runs`."""
        for method, key, early in early_runs.to_repeat(cls):
            latest = method.summaries.get(key)
            if latest is early:  # and none that another one of them has called
                memory = Memory({}, dict(early.entered), {}, early.sync_points[1])
                latest = self._run(method, CalledWith(key, early.names, early.inputs, cls, memory))
            if latest is not None:
                early_runs.replace(early, latest)

    def _enter_inherited(self, cls: ClassInfo) -> Iterator[Summary]:
        """Run inherited methods that use what the class defines and that no known code calls on objects of it.

        Those of models are part of a forward pass; only what Lightning calls by itself is run. Tests share hundreds of
        methods, which are run for the class that defines them.
        """
        if self.is_entry_class(cls) or unit_tests.is_of_one_process(cls):
            return
        entered = cls.notes.of(_Entered).methods
        callers = callers_first(templates.inherited_by(cls))
        if is_module_class(cls):
            hooks = lightning.hooks_of(cls.library_bases())
            callers = [method for method in callers if method.name in hooks]
        for method in sorted(callers, key=lambda each: each.name != "__init__"):
            if method in entered or not method.has_run_on(cls):
                entered.add(method)
                if method.name == "__init__":
                    summary = self._enter_with(method, cls, unseen_makers.arguments(self, cls, method))
                    summary.trace.builds = True
                else:
                    passed = epoch_outputs.arguments(self, cls, method, self._enter_with)
                    summary = self._enter_with(method, cls, *passed)
                yield summary

    def _hooks_of(self, cls: ClassInfo) -> dict[str, tuple[Hook, ...]]:
        merged: dict[str, tuple[Hook, ...]] = {}
        for base in cls.library_bases():
            for name, rows in self.library_hooks(base).items():
                merged.setdefault(name, rows)
        return merged

    def _enter_hook(self, cls: ClassInfo, method: FunctionInfo, rows: tuple[Hook, ...]) -> Summary:
        parameters = given_parameters(cls, method, rows)
        gets_batch = any(value.kind is Kind.BATCH and value.rank.differs for value in parameters.values())
        summary = self._enter_with(method, cls, {**parameters, **added_switches(method, parameters)})
        summary.trace.steps |= gets_batch and rows[-1].name.rpartition(".")[2] not in EVALUATION_HOOKS
        # `_save`, which writes, is called on the main process only; a hook that saves is called on each rank.
        by_each = not creations.is_of_some_ranks(self.project, cls)
        if rows[-1].called and method.name != "_save" and by_each:
            summary.trace.launch(Step(method.module, method.node, f"each process runs `{method.name}`, a hook"))
        summary.trace.trains |= rows[-1].trains
        if method.name in LOSSES:
            for trains_with in self.domains.loss:
                trains_with(summary.result)
        above = method.cls.find_above(method.name) if method.cls is not None else None
        if rows[-1].stored is not None and above is None:
            cls.stored[method] = (rows[-1], summary)
        if rows[-1].gathered and not any(map(is_replaced_hook, map(cls.find, LOOPS_OVER_STEPS))):
            self._emit_gathered(cls, method, rows[-1], summary)
        return summary

    def _emit_gathered(self, cls: ClassInfo, method: FunctionInfo, row: Hook, summary: Summary) -> None:
        """Emit an event for what each `return` of a hook gives a library's base class, if that gathers it unchanged."""
        if not isinstance(method.node, cst.FunctionDef) or not self.needs_event(StepReturned):
            return
        frame = Frame(self, method.module, method, cls)
        frame.memory.names = dict(summary.names)
        for what, value in (part for each in summary.returned for part in zip(row.gathered, each.items, strict=False)):
            frame.memory.load(value, summary.final)
            for part in frame.memory.contents(value) or (value,):
                event = StepReturned(
                    module=method.module,
                    node=method.node,
                    control=UNIFORM,
                    function=method,
                    value=part,
                    what=what,
                    accelerator=frame.accelerator(),
                )
                summary.trace.events[(id(method.node), StepReturned, (what, id(part)), ())] = event

    def _returned_metrics(self, cls: ClassInfo) -> Iterator[EventTrace]:
        """A library's base class logs a part of a hook's result, unless a `log` of the project handles its stores."""
        stores = {name for base in cls.library_bases() for name in library.stores(base, self.versions)}
        if any(self._logs_store_itself(cls, name) for name in stores):
            return
        for method, (row, summary) in cls.stored.items():
            frame = Frame(self, method.module, method, cls)
            frame.memory.heap = dict(summary.final)
            frame.statement = method.node
            if (part := logged_part(frame, row, summary.result)) is not None:
                sinks.report(frame, row.name, part, method.node, mapping=True)
                yield frame.trace

    def _called_by_bases(self, cls: ClassInfo, method: FunctionInfo) -> Iterator[Summary]:
        """Run an override in the contexts in which the class it comes from calls it on `self`."""
        for base in cls.project_lineage():
            if base is cls or base.find(method.name) is None:
                continue
            contexts = list(base.calls.get(method.name, {}).values())
            stepping = reachability.stepping(base.traces) if contexts else ()
            launched = reachability.launched(base.traces) if contexts else {}
            for args, memory, control, caller, steps in contexts[-MAX_CONTEXTS:]:
                if any(value.rank.state is State.BOTTOM for value in args.all()):
                    continue  # from before the fixpoint
                if any(is_from_overridden_hook(cls, base, value) for value in args.all()):
                    continue
                frame = Frame(self, base.module, None, base)
                frame.memory = memory.fork()
                frame.memory.control = control
                receiver = None if method.is_static else ProjectInstance(cls)
                names = bind(frame, method, args, receiver)
                method.reached = True
                summary = self._enter_names(frame, method, cls, names)
                summary.trace.steps |= id(caller) in stepping if steps is None else steps
                summary.trace.trains |= method.name in library.TRAINING_HOOKS or caller.backward
                if id(caller) in launched and not creations.is_of_some_ranks(self.project, cls):
                    summary.trace.launch(None)
                yield summary

    def _logged_stores(self, cls: ClassInfo) -> list[EventTrace]:
        """What a library's base class logs of its stores: its `log` averages over steps, not over ranks."""
        traces = []
        for base in cls.library_bases():
            for name in library.stores(base, self.versions):
                value = cls.attribute(name)
                if value is None or value.kind is not Kind.CONTAINER or self._logs_store_itself(cls, name):
                    continue
                frame = Frame(self, cls.module, None, cls)
                frame.memory.heap = dict(cls.contents())
                sinks.report(frame, f"{base}.log", value, cls.node, mapping=True)
                traces.append(frame.trace)
        return traces

    def _logs_store_itself(self, cls: ClassInfo, name: str) -> bool:
        """Whether a `log` of the project reads the store: then what it logs is analysed as well."""
        log = cls.find("log")
        if log is None:
            return False
        return any(key[1] == name for summary in log.summaries.values() for key in summary.dependencies)

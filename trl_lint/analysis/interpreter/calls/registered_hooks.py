"""Functions registered with a library's object, which calls them in another of its methods.

    accelerator.register_save_state_pre_hook(save_models)
    if accelerator.is_main_process:
        accelerator.save_state(path)        runs save_models(models, weights, path), on the main process only

A hook that a method of a class registers runs where another method of that class calls the library's method, and one
that a function registers where its callers do.

    @trainer.on(Events.EPOCH_COMPLETED)     a handler of ignite, in a function: it is run where it is defined, once,
    def step(engine):                       as nothing in sight calls it
        model.scheduler.step()
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue, ProjectInstance
from trl_lint.analysis.program.project.notes import Notes
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.event_trace import EventTrace
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.control import Uniformity
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import BoundMethod, PartialCall
from trl_lint.domain.values import SAME, UNKNOWN, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.ignite import NAMES_IGNITE, REGISTERS_HANDLER
from trl_lint.knowledge.schema import Function


class RegisteredHooks:
    """The functions that a run, with those it has called, or the methods of a class have registered, by the method that
    calls them.
    """

    def __init__(self) -> None:
        self.by_method: dict[str, list[tuple[Value, Function]]] = defaultdict(list)


def register(frame: Frame, row: Function, args: Arguments) -> None:
    """Keep a registered function for calls of the method in this run, in its callers, or in another run of this class.

    One that only some ranks register may do there what is meant for these.
    """
    hook = next(iter(args.all()), UNKNOWN)
    if _code_of(hook) is None or frame.memory.control.uniformity is Uniformity.DIVERGENT:
        return
    _add_hook(frame.trace.notes, row, hook)
    frame.engine.note_stored(RegisteredHooks, frame.cls or frame.function, row.registers, _code_of(hook))
    if frame.cls is not None and _add_hook(frame.cls.notes, row, hook):
        frame.cls.count(row.registers)


def keep_of_callee(frame: Frame, trace: EventTrace) -> None:
    """Keep what a function has registered with an object that its caller has: `register_hooks(accelerator)`."""
    for hooks in trace.notes.of(RegisteredHooks).by_method.values():
        for hook, row in hooks:
            _add_hook(frame.trace.notes, row, hook)


def _add_hook(notes: Notes, row: Function, hook: Value) -> bool:
    """Keep a hook, unless it is already known. Returns whether it is new."""
    known = notes.of(RegisteredHooks).by_method[row.registers]
    is_new = all(_code_of(each) != _code_of(hook) for each, _ in known)
    if is_new:
        known.append((hook, row))
    return is_new


def _code_of(hook: Value) -> Hashable:
    """What identifies a hook whose source is available; None for other hooks."""
    match hook:
        case FunctionValue(function=function):
            return function
        case BoundMethod(receiver=ProjectInstance(cls=cls), name=name):
            return cls, name
        case PartialCall(callee=callee):
            return _code_of(callee)
    return None


def run(frame: Frame, name: str, node: cst.CSTNode) -> None:
    """Call the functions registered for a method."""
    if name not in library.RUNNING_HOOKS:
        return
    scope: Frame | None = frame
    called: set[Hashable] = set()
    while scope is not None:
        for notes in (scope.trace.notes, *_notes_of(scope, name)):
            for hook, row in notes.of(RegisteredHooks).by_method.get(name, ()):
                if _code_of(hook) not in called:
                    called.add(_code_of(hook))
                    frame.engine.call_value(frame, hook, _arguments_of_hook(frame, node, row.lists), node)
        scope = scope.outer


def _notes_of(frame: Frame, name: str) -> Iterator[Notes]:
    """The notes of the current method's class, with a dependency: it is run again if another method registers more."""
    if frame.cls is not None:
        frame.objects.dependencies[(frame.cls, name)] = frame.cls.version(name)
        yield from (cls.notes for cls in frame.cls.project_lineage())


def run_handler(frame: Frame, node: cst.FunctionDef) -> None:
    """Run a nested function that its decorator registers with an object that calls it: a handler of ignite."""
    handler = frame.memory.names[node.name.value]
    calls = [each.decorator for each in node.decorators if isinstance(each.decorator, cst.Call)]
    registering = next((each for each in calls if last_name(each.func) == REGISTERS_HANDLER), None)
    if (
        registering is None
        or not isinstance(registering.func, cst.Attribute)
        or not frame.module.mentions(NAMES_IGNITE)
    ):
        return
    given = [UNKNOWN for each in node.params.params if each.default is None]
    frame.engine.call_value(frame, handler, Arguments(given), registering)


def _arguments_of_hook(frame: Frame, node: cst.CSTNode, elements: tuple[Value, ...]) -> Arguments:
    """The arguments of a hook: lists, and the folder."""
    lists: list[Value] = [
        frame.allocate((node, "passed to a hook", index), Cell("list", rest=element, length=ranks.SAME))
        for index, element in enumerate(elements)
    ]
    return Arguments([*lists, SAME])

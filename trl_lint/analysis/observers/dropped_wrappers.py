"""Wrappers that are created and discarded, so that the model in them is trained without one.

Events of a script:

    DDP(model)                      WrapperDropped
    model = DDP(model)              none: it is kept
    def wrapped(model):
        return DDP(model)
    wrapped(model)                  WrapperDropped
    self.ddp = DDP(self.model)      WrapperDropped, if the program calls `self.model`, and all that it ever takes from
                                    `ddp` is what runs no forward, such as `self.ddp.no_sync()`
    self.model = model
    self.ddp = DDP(model)           the same
    for model in models:
        model = prepare(model)      WrapperDropped: `models` has the bare ones, and `model` is not used
        model = DDP(model)          the same
    prepare([model, optimizer])     WrapperDropped: it returns the list unchanged, and prepares nothing in it
    prepare(*[model, optimizer])    none
    first.requires_grad = True
    DDP(model)                      none: it sends the weights of a frozen model to the other ranks
    first.requires_grad = False
"""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import ModelCalled, WrapperDropped
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.result_uses import is_lost_in_loop, is_only_returned
from trl_lint.analysis.program.project.passed_arguments import parameter_for
from trl_lint.analysis.program.syntax import (
    ancestors,
    assignments,
    callee_of,
    last_name,
    of_class,
    precedes,
    self_attribute,
)
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.kinds import LibraryInstance, TupleValue
from trl_lint.domain.provenance import steps
from trl_lint.domain.values import Kind
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.heuristics import ACCELERATOR_OBJECT, PREPARED_MODEL
from trl_lint.knowledge.models import MOVE
from trl_lint.knowledge.schema import Function, Transfer
from trl_lint.knowledge.torch_distributed import DDP, RUN_NO_FORWARD, TAKES_STEP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Row


# What takes something from an attribute that runs no forward.
_RUNS_NOTHING = rb"\.(?:%b)\b" % "|".join(sorted(RUN_NO_FORWARD)).encode()


class Wraps:
    """The functions of a module that wrap an argument, and only return the result; the name of their parameter."""

    def __init__(self) -> None:
        self.functions: dict[FunctionInfo, str] = {}


class DroppedWrappers(Observer["Frame"]):
    emits = frozenset({WrapperDropped})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        # A test may expect the error that wrapping raises.
        if name != DDP or is_test(frame.function):
            return
        model = args.expression(0) or args.expression("module")
        _note_wrapping(frame, model, node)
        if frame.discarded is node:
            if not _is_frozen_after(frame.root, node):
                frame.emit(WrapperDropped, node)
        elif is_lost_in_loop(frame.root, node, model):
            frame.emit(WrapperDropped, node, in_loop=True)
        elif kept := _never_read(frame, model, node):
            frame.emit(WrapperDropped, node, kept=kept)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        if frame.discarded is not node or not isinstance(node, cst.Call) or is_test(frame.function):
            return
        parameter = function.module.notes.of(Wraps).functions.get(function)
        model = None if parameter is None else _passed(function, parameter, node)
        if model is not None and _is_read_after(frame.root, model, node):
            frame.emit(WrapperDropped, node)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove wrappers that nothing reads if the model inside is known to be trained: that is the same cause."""
        kept = {id(each) for each in events if isinstance(each, WrapperDropped) and each.kept}
        if not kept:
            return events
        calls = [each for each in events if isinstance(each, ModelCalled) and each.trains]
        told = {id(step.node) for each in calls for step in steps(each.model.provenance)}
        return [each for each in events if id(each) not in kept or id(each.node) not in told]

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if isinstance(row, Function) and row.returns == Transfer.PREPARED:
            _check_loop(frame, args, node)
            if name == PREPARE:
                _check_list(frame, args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """An Accelerator that is created from a configuration is recognised by its name."""
        if name == "prepare" and receiver.kind is Kind.UNKNOWN:
            receiver_node = getattr(callee_of(node), "value", None)
            if ACCELERATOR_OBJECT.fits(last_name(receiver_node)):
                _check_loop(frame, args, node)


def _note_wrapping(frame: Frame, model: cst.CSTNode | None, node: cst.CSTNode) -> None:
    """Remember a function that wraps one of its arguments, and leaves it to its callers to keep the result."""
    function = frame.function
    if function is None or not isinstance(model, cst.Name) or not is_only_returned(function.node, node):
        return
    if model.value in {each.name for each in function.parameters}:
        function.module.notes.of(Wraps).functions[function] = model.value
        frame.engine.note_stored(Wraps, function, model.value)


def _passed(function: FunctionInfo, parameter: str, call: cst.Call) -> cst.Name | None:
    """The name that a call passes for a parameter."""
    for each in call.args:
        found = parameter_for(function, call, each)
        if found is not None and found.name == parameter and isinstance(each.value, cst.Name):
            return each.value
    return None


def _is_read_after(root: cst.CSTNode, name: cst.Name, call: cst.CSTNode) -> bool:
    """Whether a name is read again after a call, such as that of a model which is trained then."""
    later = (each for each in of_class(root, cst.Name) if each.value == name.value and precedes(root, call, each))
    return any(not isinstance(ancestors(root, each)[-1], cst.AssignTarget) for each in later)


def _never_read(frame: Frame, model: cst.CSTNode | None, call: cst.CSTNode) -> str:
    """The attribute of `self` that keeps a wrapper, and that nothing calls, while the bare model in another is called.

    A step has to be taken in the same file: a wrapper may be there for the first weights only.
    """
    model = None if model is None else _before_moves(model)
    inner = "" if model is None else self_attribute(model) or _kept_in(frame.root, model, call)
    around = ancestors(frame.root, call)
    match around[-1] if around else None:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is call and inner:
            name = self_attribute(target)
        case _:
            return ""
    if not name or name == inner or not frame.module.mentions(TAKES_STEP):
        return ""
    calls = of_class(frame.module.tree, cst.Call)
    is_called = any(self_attribute(each.func) == inner for each in calls)
    is_used = frame.module.program_mentions(rb"\b%b\b(?!\s*=[^=]|%b)" % (re.escape(name.encode()), _RUNS_NOTHING))
    return f"self.{name}" if is_called and not is_used else ""


def _before_moves(model: cst.CSTNode) -> cst.CSTNode:
    """A model that is moved to a device as it is wrapped: `model.to(device)`, which is the same one."""
    while isinstance(model, cst.Call) and isinstance(model.func, cst.Attribute) and model.func.attr.value in MOVE:
        model = model.func.value
    return model


def _kept_in(root: cst.CSTNode, model: cst.CSTNode, call: cst.CSTNode) -> str:
    """The attribute of `self` in which a function has kept the model of a name before it wraps it."""
    assigned = (each for each in assignments(root) if precedes(root, each[1], call))
    kept = (self_attribute(target) for target, value in assigned if value.deep_equals(model))
    return next(filter(None, kept), "") if isinstance(model, cst.Name) else ""


def _is_frozen_after(root: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a later statement of the same block freezes something: `parameter.requires_grad = False`."""
    around = ancestors(root, call)
    block = next((each for each in reversed(around) if isinstance(each, (cst.BaseSuite, cst.Module))), None)
    if block is None:
        return False
    later = dropwhile(lambda each: each not in around, block.body)
    return any(map(_freezes, (each for statement in later for each in of_class(statement, cst.Assign))))


def _freezes(statement: cst.Assign) -> bool:
    is_off = isinstance(statement.value, cst.Name) and statement.value.value == "False"
    return is_off and any(last_name(each.target) == "requires_grad" for each in statement.targets)


def _check_loop(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    is_one = len(args.positional) == 1 and _is_trained(args)
    if is_one and is_lost_in_loop(frame.root, node, args.expression(0)) and not is_test(frame.function):
        frame.emit(WrapperDropped, node, in_loop=True)


def _check_list(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Emit an event for a list of known contents as the only argument of `prepare`, which does not change them."""
    if len(args.positional) != 1 or args.star is not None or is_test(frame.function):
        return
    (argument,) = args.positional
    cells, items = frame.memory.cells(argument), frame.memory.contents(argument)
    is_list = type(argument) is TupleValue or (cells and all(cell.shape == "list" for cell in cells))
    if is_list and items and not all(_needs_no_wrapper(item) for item in items):
        frame.emit(WrapperDropped, node, is_list=True)


def _needs_no_wrapper(item: Value) -> bool:
    """Whether `prepare` would not change it as an argument either: a number, a data set, a frozen model."""
    if item.kind is Kind.MODEL or isinstance(item, LibraryInstance):
        return not item.grad
    return item.kind not in (Kind.UNKNOWN, Kind.LOADER)


def _is_trained(args: Arguments) -> bool:
    """Whether the object that is prepared is a model, by its kind or by its name, and not frozen."""
    (model,) = args.positional
    name = last_name(args.expression(0))
    is_model = model.kind is Kind.MODEL or (model.kind is Kind.UNKNOWN and PREPARED_MODEL.fits(name))
    return is_model and model.grad


OBSERVER = DroppedWrappers()

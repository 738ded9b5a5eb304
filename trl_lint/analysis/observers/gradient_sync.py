"""Forwards of models: whether the wrapper that synchronises the gradients sees the call.

DDP prepares the synchronisation in its own forward. A forward of the module inside it computes gradients that no
wrapper synchronises.

    inner = accelerator.unwrap_model(model)
    inner(**batch)                        ModelCalled(model=inner)
    inner.encoder(x)                      ModelCalled(model=inner.encoder)
    super().compute_loss(inner, batch)    ModelCalled(model=inner, given=`inner`): the library's method calls it
    torch.func.jvp(inner, (x,), (v,))     the same: a function of the library calls it
    inner.weight.sum()                    ParameterRead(attribute="weight"): an engine may have sharded it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import libcst as cst

from trl_lint.analysis.events import Event, ModelCalled, ParameterRead
from trl_lint.analysis.program.definitions.loops_of_trainers import has_engine_run_its_model
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.hand_reduction import only_reads_gradients, reduces_gradients
from trl_lint.analysis.program.idioms.handled_errors import is_caught
from trl_lint.analysis.program.idioms.input_gradients import only_gives_gradients
from trl_lint.analysis.program.idioms.left_out_models import is_left_out
from trl_lint.analysis.program.idioms.numbers_only import gives_only_numbers
from trl_lint.analysis.program.idioms.only_forwards import is_only_forward
from trl_lint.analysis.program.idioms.without_wrapper import is_without_wrapper
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import (
    assigned_once,
    callee_of,
    of_class,
    self_attribute,
    used_names,
)
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import code_called, library_function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import CalleeRun, Observer, Reached
from trl_lint.analysis.transfer.models import frozen_features, frozen_parts, own_forwards, wrapped_models
from trl_lint.analysis.transfer.models.gradients import is_gathered_by_hand
from trl_lint.domain.kinds import PreparedObject, TensorValue
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.provenance import GivenWrapper, steps
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping
from trl_lint.knowledge import models
from trl_lint.knowledge.heuristics import SETTINGS_OBJECT
from trl_lint.knowledge.schema import BACKWARD, Hook, Row
from trl_lint.knowledge.torch import COMPUTING_MODULES


class GradientSync(Observer["Frame"]):
    emits = frozenset({ModelCalled, ParameterRead})

    def on_model_call(self, frame: Frame, model: Value, node: cst.CSTNode) -> None:
        if not _may_be_method(frame, node):
            passed = [each.value for each in node.args] if isinstance(node, cst.Call) else []
            _emit(frame, model, node, given=next((each for each in passed if frame.value_of(each) is model), None))

    def on_model_method(self, frame: Frame, model: Value, name: str, node: cst.CSTNode) -> None:
        is_of_unknown = model.wrapping is Wrapping.UNWRAPPED and class_of(model) is None
        around = frame.module.tree if frame.cls is None else frame.cls.node
        made = (step.node for step in steps(model.provenance))
        if model.wrapping is Wrapping.UNWRAPPED and _gives_frozen_features(frame, model, node):
            return
        if own_forwards.runs_a_forward(frame, model, name) or (
            is_of_unknown and is_only_forward(frame.root, around, node, made)
        ):
            _emit(frame, model, node, "" if name in models.FORWARDS else name)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        """A method of a library's trainer that gives what is trained with runs the model that it is passed."""
        if not isinstance(row, Hook) or not row.trains:
            return
        for place, (parameter, expected) in enumerate(row.parameters.items()):
            model = args.get(place, parameter) if wrapping_of(expected) is Wrapping.WRAPPED else None
            given = args.node(place, parameter)
            if model is None or given is None:
                continue
            if wrapped_models.is_wrapped(model):
                frame.notes.of(PassedWrappers).calls.add(id(node))
            _emit(frame, model, node, given=given.value)

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        """What is passed a wrapper, where gradients are on, may run it."""
        if frame.memory.control.grad and any(map(wrapped_models.is_wrapped, args.all())):
            frame.notes.of(PassedWrappers).calls.add(id(node))
        _note_holders(frame, args, [_called(frame, callee_of(node)), *args.all()])

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _note_holders(frame, args, [receiver])

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        if run.trace.notes.of(RunHolders).are_run:
            frame.trace.notes.of(RunHolders).are_run = True

    def on_argument(self, frame: Frame, value: Value, call: cst.Call) -> None:
        """Emit the read of a parameter whose values a call uses, unless the callee is known and may gather it."""
        read = value.parameter if isinstance(value, TensorValue) else None
        if read is None or read.function is not frame.function or _is_passed_with_weight(read.node, call):
            return
        if not (_is_known_callee(frame, call.func) or is_gathered_by_hand(frame, read.node)):
            frame.emit(ParameterRead, read.node, value=value, attribute=read.name)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        if reached.trains and isinstance(event, (ModelCalled, ParameterRead)):
            return replace(event, trains=True)
        return event


def _gives_frozen_features(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    return frozen_features.are_called(frame, model, node) or frozen_parts.is_frozen(frame, model, callee_of(node))


class PassedWrappers:
    """The ids of the calls of unknown code that are passed a wrapper."""

    def __init__(self) -> None:
        self.calls: set[int] = set()


class RunHolders:
    """Whether something unknown that was made with a wrapper gets data in a run: `attack.perturb(inputs)`.

    It may run the wrapper, which prepares the next backward pass, also one of the module inside.
    """

    def __init__(self) -> None:
        self.are_run = False


def _note_holders(frame: Frame, args: Arguments, candidates: Iterable[Value | None]) -> None:
    is_held = any(each is not None and isinstance(each.provenance, GivenWrapper) for each in candidates)
    if is_held and frame.memory.control.grad and any(map(_is_data, args.all())):
        frame.trace.notes.of(RunHolders).are_run = True


def _called(frame: Frame, callee: cst.CSTNode) -> Value | None:
    name = self_attribute(callee)
    return frame.cls.attribute(name) if name and frame.cls is not None else frame.known_value(callee)


def _is_data(value: Value) -> bool:
    """Whether a value is data of this rank, not a loss."""
    return value.rank.differs and Origin.DATA in value.rank.origins and not value.grad


def _is_passed_with_weight(read: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a bias is passed with the weight of the same module: it may be missing, and one finding is enough."""
    receiver, name = _owner_and_name(read)
    if receiver is None or name != "bias":
        return False
    others = (_owner_and_name(each.value) for each in call.args)
    return any(other is not None and name == "weight" and other.deep_equals(receiver) for other, name in others)


def _owner_and_name(read: cst.CSTNode) -> tuple[cst.BaseExpression | None, str]:
    """The receiver and the name in `head.bias` and in `getattr(head, "bias", None)`."""
    if isinstance(read, cst.Attribute):
        return read.value, read.attr.value
    if isinstance(read, cst.Call) and len(read.args) > 1 and isinstance(read.args[1].value, cst.SimpleString):
        return read.args[0].value, str(read.args[1].value.evaluated_value)
    return None, ""


def _emit(
    frame: Frame, model: Value, node: cst.CSTNode, path: str = "", given: cst.BaseExpression | None = None
) -> None:
    if model.wrapping is Wrapping.UNWRAPPED and (
        _needs_no_wrapper(frame, model, node)
        or (model.provenance is None and frame.cls is not None and has_engine_run_its_model(frame.cls))
        or is_without_wrapper(
            frame.root,
            node,
            [each.node for each in steps(model.provenance)],
            None if frame.cls is None else frame.cls.node,
        )
    ):
        return
    if model.wrapping in (Wrapping.UNWRAPPED, Wrapping.WRAPPED):
        taken_from = set() if model.provenance is None else used_names(model.provenance.node)
        names = tuple(
            (name, value)
            for name, value in frame.memory.names.items()
            if wrapping_of(value) in WRAPPED_ON_SOME_WAY or (name in taken_from and isinstance(value, PreparedObject))
        )
        attributes = frozenset(
            name
            for (receiver, name), value in frame.memory.attributes.items()
            if receiver is frame.cls and wrapped_models.is_wrapped(value)
        )
        forwards = (id(point.node) for point in frame.sync_points if point.kind == "forward" and point.grad)
        frame.emit(
            ModelCalled,
            node,
            model=model,
            path=path,
            given=given,
            names=names,
            attributes=attributes,
            passed=frozenset(frame.notes.of(PassedWrappers).calls.union(forwards)),
            pending=_pending_forwards(frame.sync_points),
            with_gradients=_parameters_with_gradients(frame),
            prepared=frame.trace.notes.of(RunHolders).are_run,
        )


def _pending_forwards(points: Iterable[SyncPoint]) -> frozenset[int]:
    """The ids of the calls that have certainly run a wrapper's forward since the last backward pass."""
    pending: set[int] = set()
    for point in points:
        if point.kind == BACKWARD.kind:
            pending.clear()
        elif point.kind == "forward" and point.grad and point.certain:
            pending.add(id(point.node))
    return frozenset(pending)


# What a forward raises that misses its inputs.
_REFUSED = frozenset({"BaseException", "Exception", "TypeError"})


def _only_tries(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether a call has no inputs for a forward, and what that raises is caught.

    try: bare = net.module()
    except: bare = net
    """
    if not isinstance(node, cst.Call) or node.args or not is_caught(frame.root, node, _REFUSED):
        return False
    cls = class_of(model)
    method = None if cls is None else cls.find("forward")
    return method is None or any(each.default is None and not each.star for each in method.parameters[1:])


def _needs_no_wrapper(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    if frozen_features.are_by_name(frame, model, node) or _only_tries(frame, model, node):
        return True
    if _is_reduced_by_hand(frame) or _has_counterpart_for_wrapper(frame, node):
        return True
    if is_left_out(frame.root, callee_of(node)):
        return True
    if only_gives_gradients(frame.root, node) or gives_only_numbers(frame.root, node, partial(_only_computes, frame)):
        return True
    return frame.function is not None and only_reads_gradients(frame.function.node)


def _only_computes(frame: Frame, call: cst.Call) -> bool:
    """Whether a call is one of a function of torch that only computes: `F.normalize(x)`."""
    return library_function_of(frame, call.func).rpartition(".")[0] in COMPUTING_MODULES


def _parameters_with_gradients(frame: Frame) -> frozenset[str]:
    """The parameters, except `self`, that may be tensors which the caller has computed with gradients.

    Settings, by which a loss may be weighted, are not among them: `loss + args.prior_loss_weight * prior_loss`.
    """
    function = frame.function
    parameters = () if function is None else function.parameters[frame.cls is not None :]
    values = (
        (each.name, frame.memory.names.get(each.name)) for each in parameters if not SETTINGS_OBJECT.fits(each.name)
    )
    return frozenset(name for name, value in values if value is not None and value.kind in _MAY_BE_LOSS and value.grad)


_MAY_BE_LOSS = frozenset({Kind.TENSOR, Kind.UNKNOWN})


def _is_reduced_by_hand(frame: Frame) -> bool:
    """Whether the function, or the program, reduces its gradients itself where it bypasses the wrapper."""
    return reduces_gradients(frame.root, partial(code_called, frame))


def _has_counterpart_for_wrapper(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the method just returns the result of this call, and another of the class returns that of the wrapper.

    A step that adds up losses of both makes the wrapper prepare the backward pass of the sum.
    """
    method, cls = frame.function, frame.cls
    if method is None or cls is None or not any(each is node for each in _returned_calls(method)):
        return False
    others = (each for each in cls.methods.values() if each is not method)
    attributes = {self_attribute(call.func) for each in others for call in _returned_calls(each)} - {""}
    values = (cls.attribute(name) for name in sorted(attributes))
    return any(value is not None and wrapped_models.is_wrapped(value) for value in values)


def _returned_calls(method: FunctionInfo) -> Iterator[cst.Call]:
    """The calls whose result a method returns unchanged."""
    for statement in of_class(method.node, cst.Return):
        if isinstance(statement.value, cst.Call):
            yield statement.value


def _may_be_method(frame: Frame, call: cst.CSTNode) -> bool:
    """Whether what is called without arguments is looked for in a model of unknown class: it may be any method of it.

    make = getattr(model.module, "new_cache", None)
    if make is not None:
        cache = make()
    """
    if not isinstance(call, cst.Call) or call.args or not isinstance(call.func, cst.Name):
        return False
    match assigned_once(frame.root, call.func.value):
        case cst.Call(
            func=cst.Name("getattr"),
            args=[cst.Arg(value=owner), cst.Arg(value=cst.SimpleString() as literal), cst.Arg(value=cst.Name("None"))],
        ):
            model = frame.known_value(owner)
            name = str(literal.evaluated_value)
            return class_of(model) is None and name != models.INNER_MODEL and not own_forwards.runs_any(name)
    return False


def _is_known_callee(frame: Frame, callee: cst.BaseExpression) -> bool:
    """Whether a callee is a function of the project, or one that only inspects a parameter."""
    if isinstance(callee, cst.Attribute):
        receiver = frame.known_value(callee.value)
        name = callee.attr.value
        cls = class_of(receiver)
        is_method = cls is not None and cls.find(name) is not None
        return is_method or name in models.INSPECT_PARAMETERS
    if not isinstance(callee, cst.Name) or callee.value in models.INSPECT_PARAMETERS:
        return isinstance(callee, cst.Name)
    known = frame.engine.lookup(frame, callee.value)
    return known is not None and frame.engine.settle(known).kind in (Kind.CLASS, Kind.FUNCTION)


OBSERVER = GradientSync()

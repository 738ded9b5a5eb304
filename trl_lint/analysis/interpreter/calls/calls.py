"""Calls: which function is called, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import libcst as cst

from trl_lint.analysis.events import Revealed
from trl_lint.analysis.interpreter.calls import (
    builtin_calls,
    instantiation,
    library_calls,
    method_calls,
    row_transfers,
    unknown_calls,
)
from trl_lint.analysis.interpreter.calls.call_arguments import evaluated
from trl_lint.analysis.interpreter.calls.model_calls import call_model, output_of
from trl_lint.analysis.interpreter.objects import (
    assignment,
    evaluated_batches,
    present_on_some,
    refused_none,
    registries,
    set_by_bases,
    trained_losses,
)
from trl_lint.analysis.interpreter.operations import metrics, pure_calls
from trl_lint.analysis.interpreter.operations.pure_calls import loaded_result, pure_result
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue, ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, is_module_class
from trl_lint.analysis.program.syntax import callee_of, is_super, last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.point_sequences import one_of_calls
from trl_lint.analysis.transfer.data import own_shares
from trl_lint.analysis.transfer.models import engine_models, wrapped_models
from trl_lint.analysis.transfer.tensors import gradient_cuts
from trl_lint.domain import ranks
from trl_lint.domain.choices import (
    AmongOthers,
    OneOfClasses,
    OneOfFunctions,
    OneOfModules,
    OneOfProjectClasses,
    OneOfProjectObjects,
    WithOptions,
    among_unknown,
)
from trl_lint.domain.heap import Memory, unknown_cell
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import (
    BoundMethod,
    InstanceValue,
    LibraryInstance,
    LibraryName,
    LoadedFiles,
    ModelValue,
    PartialCall,
    PreparedObject,
    PureObject,
)
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.provenance import GivenWrapper
from trl_lint.domain.ranks import State
from trl_lint.domain.values import BOTTOM, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import engines, evaluation, models, monai
from trl_lint.knowledge.heuristics import KEEPS_ITS_ARGUMENT
from trl_lint.knowledge.lightning import is_module
from trl_lint.knowledge.model_libraries import STEPS
from trl_lint.knowledge.python import PASS_FIRST_ARGUMENT


def call(frame: Frame, node: cst.Call) -> Value:
    """The value of a call expression."""
    return evaluated_batches.given(frame, node, _called(frame, node))


def _called(frame: Frame, node: cst.Call) -> Value:
    func = node.func
    if type(func) is cst.Attribute:
        if is_super(func.value):
            return _call_super(frame, func.attr.value, evaluated(frame, node), node)
        receiver = present_on_some.used(frame, func.value, frame.engine.evaluate(frame, func.value))
        if func.attr.value == "backward":
            frame.trace.backward = True
            receiver = trained_losses.as_start(frame, func.value, receiver)
        args = evaluated(frame, node)
        refused_none.note(frame, receiver, func.attr.value, args, node)
        return method_calls.call_member(frame, receiver, func.attr.value, args, node)
    if type(func) is cst.Name:
        callee = frame.engine.lookup(frame, func.value)
        if callee is None:
            return _call_unbound(frame, func.value, node)
        callee = present_on_some.used(frame, func, present_on_some.of_name(frame, func, callee))
        return call_value(frame, callee, evaluated(frame, node), node)
    return call_value(frame, frame.engine.evaluate(frame, func), evaluated(frame, node), node)


def _call_unbound(frame: Frame, name: str, node: cst.Call) -> Value:
    """A call of a name that is not defined anywhere in the project."""
    args = evaluated(frame, node)
    if name == "reveal_rank" and args.positional:
        frame.emit(Revealed, node, value=args.positional[0])
        return args.positional[0]
    if name == "reveal_shape" and args.positional:
        frame.emit(Revealed, node, value=args.positional[0], shape=True)
        return args.positional[0]
    return unresolved(frame, args, node)


def _call_super(frame: Frame, name: str, args: Arguments, node: cst.Call) -> Value:
    """`super().name(...)`: the method of a project base class, or the row of a library's."""
    function = frame.function
    outer = frame
    while function is not None and function.cls is None and outer.outer is not None:
        outer = outer.outer
        function = outer.function
    cls = frame.cls or outer.cls
    if function is None or function.cls is None or cls is None:
        return unresolved(frame, args, node)
    receiver = ProjectInstance(cls)
    is_mixin = frame.engine.is_mixed_in(function.cls, cls)
    above = cls.find_above(name, function.cls) if is_mixin else function.cls.find_above(name)
    if above is not None:
        receiver_class = cls if above.shows or frame.engine.is_mixed_in(above.cls, cls) else above.cls
        returned = frame.engine.call(frame, above, args, node, ProjectInstance(receiver_class or cls))
        if name == function.name == "__init__":
            frame.bases_made = True
            set_by_bases.take_over(frame, cls, above, node)
        return returned
    return library_calls.call_inherited(frame, receiver, cls if is_mixin else function.cls, name, args, node)


def call_value(frame: Frame, callee: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of calling a value."""
    callee = frame.engine.settle(callee)
    value = _called_value(frame, callee, args, node)
    if value.kind is Kind.UNKNOWN and isinstance(callee, (FunctionValue, LibraryName)):
        return registries.built(frame, callee, args, node, value)
    return value


def _called_value(frame: Frame, callee: Value, args: Arguments, node: cst.CSTNode) -> Value:
    match callee:
        case FunctionValue(function=function):
            if function.name in models.FOR_GENERATION:
                row_transfers.for_generation(frame, args, node)
            if function.decorators & PASS_FIRST_ARGUMENT:
                args = _completed(PartialCall(callee, (UNKNOWN,)), args)
            returned = frame.engine.call(frame, function, args, node, None)
            for refine in frame.domains.project_function:
                returned = refine(frame, function, args, returned)
            return returned
        case LibraryName():
            return _call_dotted(frame, callee.name, args, node)
        case BoundMethod():
            return method_calls.call_member(frame, callee.receiver, callee.name, args, node)
        case PartialCall():
            return call_value(frame, callee.callee, _completed(callee, args), node)
        case ClassValue():
            return instantiation.instantiate(frame, callee.cls, args, node)
        case WithOptions() | OneOfClasses():
            return _call_choice(frame, callee, args, node)
        case ModelValue():
            return call_model(frame, callee, args, node)
        case InstanceValue():
            return _call_instance(frame, callee, args, node)
        case LoadedFiles():
            return loaded_result(frame, args) or unresolved(frame, args, node)
    return BOTTOM if callee.rank.state is State.BOTTOM else unresolved(frame, args, node)


def _call_choice(frame: Frame, callee: WithOptions | OneOfClasses, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of calling one of several values."""
    match callee:
        case OneOfProjectClasses():
            taken = [each for each in callee.options if instantiation.takes(each, args)]
            made = [call_value(frame, option, args, node) for option in taken]
            return join_all(made) if made else unresolved(frame, args, node)
        case OneOfFunctions():
            return _call_one_of(frame, callee.options, args, node)
        case OneOfProjectObjects(options=options) if all(map(_is_called_like_function, options)):
            return method_calls.call_member(frame, callee, "__call__", args, node)
        case AmongOthers(options=options):
            made = _each_called(frame, options, args, node)
            return among_unknown(unresolved(frame, args, node), made)
        case OneOfModules():
            return join_all([call_value(frame, option, args, node) for option in callee.options])
        case OneOfClasses(names=names) if all(each.startswith(("torch.nn.", "torch.utils.data.")) for each in names):
            return join_all([call_value(frame, LibraryName(each), args, node) for each in sorted(names)])
    return unresolved(frame, args, node)


def _is_called_like_function(value: Value) -> bool:
    """Whether it is an object of a class with a `__call__` of its own."""
    return isinstance(value, ProjectInstance) and value.cls.find("__call__") is not None


def _call_one_of(frame: Frame, functions: Sequence[Value], args: Arguments, node: cst.CSTNode) -> Value:
    """The result of one of several functions or methods: after the call, what each of them may have done."""
    return join_all(_each_called(frame, functions, args, node))


def _each_called(frame: Frame, functions: Sequence[Value], args: Arguments, node: cst.CSTNode) -> list[Value]:
    before, ends = frame.memory, []

    def called(function: Value) -> Value:
        frame.memory = before.fork()
        returned = call_value(frame, function, args, node)
        ends.append(frame.memory)
        return returned

    results = list(one_of_calls(frame, node, (partial(called, each) for each in functions)))
    frame.memory = reduce(Memory.merge, ends)
    return results


def _completed(callee: PartialCall, args: Arguments) -> Arguments:
    """The arguments of a call, with those of the `functools.partial` object."""
    shift = len(callee.positional)
    completed = Arguments((*callee.positional, *args.positional), {**dict(callee.keywords), **args.keywords})
    completed.star, completed.double = args.star, args.double
    completed.nodes = {key + shift if isinstance(key, int) else key: arg for key, arg in args.nodes.items()}
    return completed


def _call_instance(frame: Frame, callee: InstanceValue, args: Arguments, node: cst.CSTNode) -> Value:
    if wrapped_models.redirects(callee):
        return wrapped_models.redirected(frame, args, node)
    match callee:
        case ProjectInstance(cls=cls):
            method = cls.find("__call__") or (cls.find("forward") if _has_forward_called(cls) else None)
            if method is not None:
                return method_calls.call_method(frame, callee, cls, method, args, node)
            if is_module(cls.library_bases()):  # with a forward that is out of sight
                return output_of(frame, args)
        case PreparedObject():
            return call_model(frame, callee, args, node)
        case LibraryInstance(name=evaluation.METRIC) if (of_batch := metrics.of_batch(frame, args, node)) is not None:
            return of_batch
        case LibraryInstance(name=engines.ENGINE):
            return call_model(frame, engine_models.model_of(callee), args, node)
        case LibraryInstance(name=evaluation.METRICS):
            return row_transfers.opened(frame, evaluation.RESULTS_OF_BATCH, node)
        case LibraryInstance(name=name) if name in STEPS and args.positional:
            frame.trace.backward = True
            return method_calls.call_member(frame, args.positional[0], "backward", Arguments(), node)
        case LibraryInstance(name=name) if name.startswith("torch.nn."):
            output = gradient_cuts.of_layer(frame, callee, pure_calls.module_output(callee, args))
            return own_shares.of_module(frame, args, output)
        case LibraryInstance(name=name) if name in monai.CALLED:
            return pure_result(pure_calls.spread(frame, args))
        case PureObject():
            return pure_result(pure_calls.spread(frame, args))
    return unresolved(frame, args, node)


def _has_forward_called(cls: ClassInfo) -> bool:
    """Whether a call of an object of this class runs its `forward`: it is a module of torch or of Lightning."""
    return is_module_class(cls) or is_module(cls.library_bases())


def _call_dotted(frame: Frame, dotted: str, args: Arguments, node: cst.CSTNode) -> Value:
    if dotted.startswith("builtins."):
        name = dotted[9:]
        value = builtin_calls.call(frame, name, args, node)
        for refine in frame.domains.builtin:
            value = refine(frame, name, args, node, value)
        return value
    return library_calls.call_function(frame, dotted, args, node)


def call_property(frame: Frame, receiver: Value, method: FunctionInfo, node: cst.CSTNode) -> Value:
    return frame.engine.call(frame, method, Arguments(), node, receiver)


def unresolved(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of code whose source is unavailable: its result, and whatever it may change in place, is unknown.

    The names of its arguments may still tell what it returns.
    """
    shown = unknown_calls.result(frame, args, node)
    if shown is not None:
        return shown
    for observe in frame.observers.unknown_call:
        observe(frame, args, node)
    for value in args.all():
        if not frame.is_stored(value):
            frame.update(value, unknown_cell)
    may_reduce = frame.discarded is node and not KEEPS_ITS_ARGUMENT.fits(last_name(callee_of(node)))
    for key, value in args.named():
        arg = args.nodes.get(key)
        if arg is not None and may_reduce and value.kind is Kind.TENSOR and value.rank.differs:
            assignment.rebind(frame, arg.value, UNKNOWN)
    if frame.discarded is not node and any(wrapping_of(each) is Wrapping.WRAPPED for each in args.all()):
        return Value(provenance=GivenWrapper(frame.module, node, "`{}` is given the wrapped model"))
    known = [each.rank for each in args.all() if each.rank.state is not State.SAME]
    # Computed from what all ranks have put together: `self.loss(gathered)`.
    return Value(ranks.AGREED) if known and all(each == ranks.AGREED for each in known) else UNKNOWN

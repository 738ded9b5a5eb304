"""Methods: of project objects, library objects, models, containers and data."""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from trl_lint.analysis.interpreter.calls import (
    collectives,
    container_methods,
    data_calls,
    engine_calls,
    instantiation,
    library_calls,
    sinks,
    thread_pools,
    validated_models,
)
from trl_lint.analysis.interpreter.calls.called_choices import called_on_heirs, called_on_some, loaded_by_one_of
from trl_lint.analysis.interpreter.calls.first_elements import first_of
from trl_lint.analysis.interpreter.calls.model_calls import call_on_model
from trl_lint.analysis.interpreter.conditions import none_tests
from trl_lint.analysis.interpreter.objects import (
    attributes,
    chosen_names,
    environment_variables,
    given_wrappers,
    metric_states,
    named_ranks,
    options,
    passed_models,
    present_on_some,
    registries,
    spread_dicts,
)
from trl_lint.analysis.interpreter.operations import (
    dict_constructors,
    metrics,
    operators,
    paths,
    pure_calls,
    text_tests,
)
from trl_lint.analysis.interpreter.operations.pure_calls import loaded_result, pure_result
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue, ProjectInstance, ProjectModel
from trl_lint.analysis.program.definitions.reduced_forwards import APPLY, is_reduced
from trl_lint.analysis.program.idioms import asked_batches, reset_metrics
from trl_lint.analysis.program.idioms.result_uses import is_checked_first
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, is_module_class
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.analysis.state import own_dicts, own_texts, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.point_sequences import one_of_calls
from trl_lint.analysis.transfer.models import frozen_models, paces
from trl_lint.analysis.transfer.processes import groups
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks
from trl_lint.domain.choices import (
    AmongOthers,
    NamesOfFile,
    OneOfClasses,
    OneOfModules,
    OneOfProjectClasses,
    OneOfProjectObjects,
    ProjectChoice,
    SomeFile,
)
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    BoundMethod,
    ContainerValue,
    InstanceValue,
    IterableValue,
    LibraryName,
    LoadedFiles,
    LoaderValue,
    MetricObject,
    ModelValue,
    NumberValue,
    PathValue,
    PreparedObject,
    ProjectName,
    PureObject,
    StringValue,
    library_name_of,
)
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import BOTTOM, SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge import engines, heuristics, library, models, torch_distributed, torch_ops
from trl_lint.knowledge.backends import RANK_IN_GROUP
from trl_lint.knowledge.evaluation import METRIC
from trl_lint.knowledge.launcher_variables import ENVIRON
from trl_lint.knowledge.schema import RANK_INDEX, Collective, Sink


def call_member(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The value of `receiver.name(...)`."""
    receiver = frame.engine.with_contents(frame, receiver)
    if name == RANK_IN_GROUP and groups.is_known(receiver):
        return RANK_INDEX.replace(provenance=frame.step(node, "`{}` differs between ranks"))
    value = paces.of_method(receiver, name, args, _member_called(frame, receiver, name, args, node))
    if isinstance(receiver, AmongOthers):
        value = called_on_some(frame, receiver, name, args, node, value)
    if name in registries.METHODS and value.kind is Kind.UNKNOWN:
        value = registries.called(frame, name, args, node, value)
    for refine in frame.domains.method:
        value = refine(frame, receiver, name, args, node, value)
    return none_tests.present(value) if name in models.MOVE else value


_DATA = frozenset({Kind.TENSOR, Kind.BATCH, Kind.NUMBER_LIST, Kind.NUMBER})
_FUNCTION = "torch.autograd.Function"


def _member_called(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    if receiver.rank.state is State.BOTTOM:
        return BOTTOM
    if isinstance(receiver, (OneOfClasses, ProjectChoice, SomeFile)):
        return _called_on_choice(frame, receiver, name, args, node)
    called = (
        library_calls.call_through_class(frame, receiver, name, args, node) if type(receiver) is LibraryName else None
    )
    if called is not None:
        return called
    if isinstance(receiver, (LibraryName, ProjectName)):
        return frame.engine.call_value(frame, frame.engine.member(receiver, name), args, node)
    for observe in frame.observers.method_call:
        observe(frame, receiver, name, args, node)
    if _is_of_engine(receiver, name):
        return library_calls.call_method(frame, receiver, engines.ENGINE, name, args, node)
    if _is_of_sharded_tensor(frame, receiver, name, node):
        return library_calls.call_method(frame, receiver, torch_distributed.UNIQUE[name], name, args, node)
    match receiver:
        case InstanceValue():
            return _call_on_instance(frame, receiver, name, args, node)
        case ModelValue():
            return call_on_model(frame, receiver, name, args, node)
        case MetricObject():
            return metrics.call(frame, receiver, name, args, node)
        case ContainerValue():
            return container_methods.call(frame, receiver, name, args, node)
        case ClassValue():
            return _call_on_class(frame, receiver, name, args, node)
        case IterableValue() | LoaderValue() if name in asked_batches.ASKS_ITSELF and not args.all():
            return first_of(frame, Arguments([receiver]), node)
        case PathValue():
            return paths.call(frame, receiver, name, args, node)
        case LoadedFiles():
            return loaded_result(frame, args) or _call_on_unknown_object(frame, receiver, name, args, node)
    if (receiver.kind in _DATA or receiver.rank.differs) and not (name == "get" and settings.is_unknown(receiver)):
        return data_calls.call(frame, receiver, name, args, node)
    if isinstance(receiver, StringValue):
        return _call_on_string(frame, receiver, name, args)
    return _call_on_unknown_object(frame, receiver, name, args, node)


def _call_on_string(frame: Frame, receiver: StringValue, name: str, args: Arguments) -> Value:
    decided = text_tests.decided(receiver, name, args)
    if decided is not None:
        return decided
    if name == "format_map":  # the values of its argument count, not the keys
        return operators.filled(frame, receiver, args.positional[0] if args.positional else UNKNOWN)
    given = pure_calls.spread(frame, args)
    given.nodes = args.nodes
    put = settings.counts_by_name(given) if name == "format" else given.all()
    parts = [receiver, *map(pure_calls.text_of, put)]  # `"-".join([name, str(rank)])`
    text = derived(ranks.nonlinear(ranks.combine_all(each.rank for each in parts)), Kind.STRING, *parts)
    if name == "format" and _is_text(receiver):
        return operators.made_of(frame, parts[1:], text.replace(const=_FIELD.sub(WILDCARD, receiver.const)))
    return text


def _is_of_sharded_tensor(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> bool:
    """Whether a method is one that only sharded tensors have, and no test asks whether this one has it."""
    if name not in torch_distributed.UNIQUE or isinstance(receiver, ProjectInstance):
        return False
    callee = callee_of(node)
    return not (isinstance(callee, cst.Attribute) and is_checked_first(frame.root, callee.value))


def _is_of_engine(receiver: Value, name: str) -> bool:
    """Whether a method is one of DeepSpeed's engine, which no model or other object has."""
    if name in engines.OF_MODELS:
        return isinstance(receiver, ModelValue) and not isinstance(receiver, ProjectModel)
    return name in engines.UNIQUE and not isinstance(receiver, ProjectInstance)


def _called_on_choice(
    frame: Frame, receiver: OneOfClasses | ProjectChoice | SomeFile, name: str, args: Arguments, node: cst.CSTNode
) -> Value:
    """A method of one of several objects, classes or modules, or of the names of a module."""
    match receiver:
        case OneOfClasses():
            return loaded_by_one_of(receiver, name) or _call_on_unknown_object(frame, SAME, name, args, node)
        case NamesOfFile():
            return chosen_names.call_on_names(receiver, name, args)
        case SomeFile():
            return frame.engine.call_value(frame, chosen_names.attribute(receiver, name), args, node)
        case OneOfModules() | OneOfProjectClasses() | OneOfProjectObjects():
            return _called_on_each(frame, receiver, name, args, node)
    return _call_on_unknown_object(frame, receiver, name, args, node)


def _called_on_each(
    frame: Frame,
    receiver: OneOfModules | OneOfProjectClasses | OneOfProjectObjects,
    name: str,
    args: Arguments,
    node: cst.CSTNode,
) -> Value:
    """A method of one of several objects or classes: each may be the one that is called."""
    if isinstance(receiver, OneOfModules) and name in models.RETURN_THE_MODEL:
        return receiver
    result: Value = BOTTOM
    agree = True
    having = options.having(frame, receiver, name)
    having = having if frame.discarded is node else options.written_out(having, name)
    for returned in one_of_calls(frame, node, (partial(call_member, frame, each, name, args, node) for each in having)):
        agree = agree and (result is BOTTOM or result.rank == returned.rank)
        result = join(result, returned)
    # What a method of a class returns of which there may be no object says nothing of the others.
    return result if agree or receiver.rank != ranks.UNKNOWN else UNKNOWN


def _call_on_unknown_object(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of an object of unknown class, guessed from its name."""
    if isinstance(receiver, thread_pools.NewThread):
        return thread_pools.call(frame, receiver, name, args, node)
    callee = callee_of(node)
    if name == "update" and isinstance(callee, cst.Attribute):
        spread = spread_dicts.as_dict(frame, receiver, callee.value, node)
        if spread is not None:
            return container_methods.call(frame, spread, name, args, node)
    unique = library.unique_method(name)
    if unique is not None:
        return library_calls.call_method(frame, receiver, unique, name, args, node)
    if receiver.kind is Kind.UNKNOWN and reset_metrics.is_metric(frame.module, frame.root, name, node):
        return library_calls.call_method(frame, receiver, METRIC, name, args, node)
    row = torch_ops.of_method(name)
    if receiver.kind is Kind.UNKNOWN and row.rank in tensors.TO_HOST:
        # Only tensors and array scalars have these methods.
        return tensors.method(row, receiver, args.positional, args.keywords)
    if receiver.kind is Kind.UNKNOWN and name == "size" and any(type(each.const) is int for each in args.positional):
        return NumberValue(receiver.rank, scalar=True, dtype="int")  # other objects' `size` takes no dimension
    if isinstance(receiver, FunctionValue) and name == "__call__":
        return frame.engine.call_value(frame, receiver, args, node)
    return _call_on_unknown(frame, receiver, name, args, node)


# A field of `"{}/loss".format(split)`; such a string is a key of the same kind as `f"{split}/loss"`.
_FIELD = re.compile(r"\{[^{}]*\}")


def _is_text(value: Value) -> bool:
    return isinstance(value.const, str)


def _call_on_unknown(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of an object of unknown class: the same on all ranks only if receiver and arguments are."""
    if receiver.kind in (Kind.UNKNOWN, Kind.NONE) and heuristics.is_rank_name(name) and not args.all():
        return named_ranks.named_rank(frame, name)
    if receiver.kind is Kind.UNKNOWN and heuristics.RANK_FIELD.fits(name) and not args.all():
        return UNKNOWN  # it may be a process group, or something else with a rank
    passed_models.note_argument(frame, name, args, node)
    if name == "requires_grad_":
        frozen_models.freeze(frame, receiver, args, callee_of(node))
    is_same = receiver.rank.state is State.SAME and receiver.kind is not Kind.NONE
    if is_same and args.rank().state is State.SAME and not _has_cells(args):
        return SAME
    result = frame.engine.unresolved(frame, args, node)
    if ranks.combine(receiver.rank, args.rank()) == ranks.AGREED:  # `gathered.norm(dim=1)`
        return result.replace(rank=ranks.AGREED)
    of_settings = (is_same or receiver.rank == ranks.SETTING) and settings.returns_setting(receiver, args)
    if of_settings or (name == "get" and settings.is_unknown(result) and _reads_settings(frame, receiver, args, node)):
        result = own_texts.unless_own(frame, next((each.const for each in args.all()), None), settings.SETTING)
    if (
        {receiver.kind, result.kind} <= _NO_KIND
        and heuristics.GENERATES_TEXT.fits(name)
        and Origin.DATA in args.rank().origins
    ):
        result = BatchValue(
            ranks.LOCAL, BatchRole.FIELD, provenance=frame.step(node, "`{}` is computed from this rank's own data")
        )
    for refine in frame.domains.unknown_method:
        result = refine(frame, receiver, name, args, node, result)
    return result


def _reads_settings(frame: Frame, receiver: Value, args: Arguments, node: cst.CSTNode) -> bool:
    """`config.get("seed", 0)`, with a default that is the same on all ranks."""
    func = node.func if isinstance(node, cst.Call) else None
    expression = func.value if isinstance(func, cst.Attribute) else None
    key, *others = args.all() or (UNKNOWN,)
    return all(each.rank.is_uniform for each in others) and settings.is_uniform_item(frame, expression, receiver, key)


_NO_KIND = frozenset({Kind.INSTANCE, Kind.NONE, Kind.UNKNOWN})


def _has_cells(args: Arguments) -> bool:
    return any(value.kind is Kind.CONTAINER for value in args.all())


# Methods of a NamedTuple, and of a pydantic model, that return a dict of its fields.
_DUMPS = frozenset({"_asdict", "model_dump"})


def _call_on_instance(frame: Frame, receiver: InstanceValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    if not isinstance(receiver, ProjectInstance):
        return _call_on_library_instance(frame, receiver, name, args, node)
    cls = receiver.cls
    method = cls.find(name)
    if not cls.made:
        frame.engine.note_used(cls)
    if method is not None and not method.is_property:
        return call_method(frame, receiver, cls, method, args, node)
    if name in models.RETURN_THE_MODEL and is_module_class(cls):
        return receiver
    if name in _DUMPS:
        fields = dict_constructors.of_fields(frame, receiver, node)
        if fields is not None:
            return fields
    entries = own_dicts.with_entries(frame, receiver) if name in container_methods.METHODS else receiver
    if isinstance(entries, ContainerValue):
        return container_methods.call(frame, entries, name, args, node)
    value = attributes.read(frame, receiver, name, callee_of(node))
    if isinstance(value, BoundMethod) and (value.receiver, value.name) == (receiver, name):
        return library_calls.call_inherited(frame, receiver, cls, name, args, node)
    if value.rank.state is State.BOTTOM:
        return BOTTOM
    value = present_on_some.used(frame, callee_of(node), value)
    if value is not UNKNOWN:
        return frame.engine.call_value(frame, value, args, node)
    return library_calls.call_inherited(frame, receiver, cls, name, args, node)


def call_method(
    frame: Frame, receiver: Value, cls: ClassInfo, method: FunctionInfo, args: Arguments, node: cst.CSTNode
) -> Value:
    """A method of the project. An inherited one runs in its own class, unless it logs metrics or uses what others have.

    These are the class of the object and its other bases.
    """
    if method.cls is not None and method.cls.canonical:
        # The linted project is the library itself: its sinks and collectives keep their meaning.
        for row in library.rows(f"{method.cls.canonical}.{method.name}"):
            if isinstance(row, Sink):
                sinks.show(frame, row, args, node)
            elif isinstance(row, Collective):
                return collectives.collective(frame, row, args, node)
    if frame.cls is cls:
        facts_of = tuple((value.rank, value.kind, value.wrapping) for value in args.all())
        called = (args, frame.memory, frame.memory.control, frame.trace, frame.stepping)
        cls.calls.setdefault(method.name, {})[(id(node), facts_of)] = called
    if method.is_open and not frame.engine.custom_rows(method):
        method.reached = True
        return called_on_heirs(frame, cls, method.name, args, node, frame.engine.unresolved(frame, args, node))
    runs_on_receiver_class = method.cls in (None, cls.origin) or method.shows or _is_mixed_in(frame, method.cls, cls)
    runs_as = cls if runs_on_receiver_class or method.cls is None else method.cls
    receiver = receiver if runs_as is cls else ProjectInstance(runs_as)
    given_wrappers.note_call(frame, cls, method)
    given_wrappers.note_passed(frame, method, args)
    if metric_states.meets(frame, receiver, method):
        library_calls.call_inherited(frame, receiver, cls, method.name, args, node)
    returned = frame.engine.call(frame, method, args, node, None if method.is_static else receiver)
    return metric_states.result(frame, receiver, method, node, returned)


def _is_mixed_in(frame: Frame, base: ClassInfo | None, cls: ClassInfo) -> bool:
    """Whether the methods of a base, or of one of its own bases, run on the object's class.

    What these leave in the object is there for all of them.
    """
    classes = () if base is None else base.project_lineage()
    return any(frame.engine.is_mixed_in(each, cls) for each in classes)


def _call_on_library_instance(
    frame: Frame, receiver: InstanceValue, name: str, args: Arguments, node: cst.CSTNode
) -> Value:
    if isinstance(receiver, PreparedObject):
        if name == models.INNER_MODEL:  # `model.module(batch)`: the wrapper has no such method
            inner = attributes.read(frame, receiver, name, callee_of(node))
            return frame.engine.call_value(frame, inner, args, node)
        value = attributes.read(frame, receiver, name, callee_of(node), called=True)
        return _prepared_result(name, value, args)
    cls = library_name_of(receiver)
    if cls == engines.ENGINE and (called := engine_calls.call(frame, receiver, name, args, node)) is not None:
        return called
    if cls == ENVIRON:
        return environment_variables.environment(frame, args.positional[0]) if args.positional else SAME
    only_computes = cls.startswith("torch.nn.") or isinstance(receiver, PureObject)
    if only_computes and name in models.RETURN_THE_MODEL and name != "requires_grad_":
        return receiver  # `nn.MSELoss().to(device)`; what is frozen is no longer known to be trained
    if only_computes:
        return pure_result(pure_calls.spread(frame, args))
    return library_calls.call_method(frame, receiver, cls, name, args, node)


def _prepared_result(name: str, value: Value, args: Arguments) -> Value:
    if name in ("parameters", "named_parameters", "state_dict", "train", "eval"):
        return SAME
    return value if value.rank.state is State.SAME and not args.differing() else UNKNOWN


def _call_on_class(frame: Frame, receiver: ClassValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    method = receiver.cls.find(name)
    if method is not None:
        is_class_method = "classmethod" in method.decorators and not method.is_static
        if not is_class_method and (own := _own_object(frame, receiver.cls, method, args)) is not None:
            return frame.engine.call(frame, method, args.without_first(), node, own)
        return frame.engine.call(frame, method, args, node, receiver if is_class_method else None)
    if name in ("from_pretrained", "from_config"):
        return instantiation.instance_of(receiver.cls)
    made = validated_models.validated(frame, receiver.cls, name, args, node)
    if made is not None:
        return made
    if name == APPLY:
        _run_forward(frame, receiver.cls, args, node)
    result = frame.engine.unresolved(frame, args, node)
    return result.replace(rank=ranks.AGREED) if name == APPLY and is_reduced(receiver.cls) else result


def _run_forward(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> None:
    """A function of autograd is applied: the collectives of its `forward` are called here.

    Of its result nothing is known that its `backward` does not have a part in.
    """
    forward = cls.find("forward")
    if forward is not None and forward.is_static and _FUNCTION in cls.library_bases():
        passed = Arguments([UNKNOWN, *args.positional], args.keywords)
        passed.star, passed.double = args.star, args.double
        frame.engine.call(frame, forward, passed, node, None)


def _own_object(frame: Frame, base: ClassInfo, method: FunctionInfo, args: Arguments) -> ProjectInstance | None:
    """The object that a method of a base is given where it uses what the class of `self` has: `Base.fit(self)`."""
    first = args.positional[0] if args.positional else None
    cls = frame.cls
    if cls is None or method.is_static or not isinstance(first, ProjectInstance) or first.cls is not cls:
        return None
    is_of_base = base is not cls.origin and base in cls.project_lineage()
    return first if is_of_base and (method.shows or frame.engine.is_mixed_in(method.cls, cls)) else None

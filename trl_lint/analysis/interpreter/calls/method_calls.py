"""Methods: of objects in sight, of libraries' objects, of models, containers and data."""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.interpreter.calls import (
    collectives,
    container_methods,
    data_calls,
    instantiation,
    library_calls,
    metric_calls,
    sinks,
)
from trl_lint.analysis.interpreter.calls.model_calls import call_on_model
from trl_lint.analysis.interpreter.objects import attributes, handed_models
from trl_lint.analysis.interpreter.operations import dict_constructors, operators, paths, pure_calls
from trl_lint.analysis.interpreter.operations.pure_calls import loaded_result, pure_result
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue, ProjectInstance, ProjectModel
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import callee_of
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks
from trl_lint.domain.choices import OneOfClasses
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    BoundMethod,
    ContainerValue,
    InstanceValue,
    LibraryName,
    LoadedFiles,
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
from trl_lint.knowledge import engines, heuristics, library, models, torch_ops
from trl_lint.knowledge.schema import Collective, Sink


def call_member(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The value of `owner.name(...)`."""
    owner = frame.engine.settle(owner)
    value = _member_called(frame, owner, name, args, node)
    for refine in frame.domains.method:
        value = refine(frame, owner, name, args, node, value)
    return value


_DATA = frozenset({Kind.TENSOR, Kind.BATCH, Kind.NUMBER_LIST, Kind.NUMBER})


def _member_called(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    if owner.rank.state is State.BOTTOM:
        return BOTTOM
    if isinstance(owner, OneOfClasses):
        return _loaded_by_one_of(owner, name) or _call_on_something(frame, SAME, name, args, node)
    called = library_calls.call_through_class(frame, owner, name, args, node) if type(owner) is LibraryName else None
    if called is not None:
        return called
    if isinstance(owner, (LibraryName, ProjectName)):
        return frame.engine.call_value(frame, frame.engine.member(owner, name), args, node)
    for observe in frame.observers.method_call:
        observe(frame, owner, name, args, node)
    if _is_of_engine(owner, name):
        return library_calls.call_method(frame, owner, engines.ENGINE, name, args, node)
    match owner:
        case InstanceValue():
            return _call_on_instance(frame, owner, name, args, node)
        case ModelValue():
            return call_on_model(frame, owner, name, args, node)
        case MetricObject():
            return metric_calls.call(frame, owner, name, args, node)
        case ContainerValue():
            return container_methods.call(frame, owner, name, args, node)
        case ClassValue():
            return _call_on_class(frame, owner, name, args, node)
        case PathValue():
            return paths.call(frame, owner, name, args, node)
        case LoadedFiles():
            return loaded_result(frame, args) or _call_on_something(frame, owner, name, args, node)
    if (owner.kind in _DATA or owner.rank.differs) and not (name == "get" and settings.may_be(owner)):
        return data_calls.call(frame, owner, name, args, node)
    if isinstance(owner, StringValue):
        return _call_on_string(frame, owner, name, args)
    return _call_on_something(frame, owner, name, args, node)


def _call_on_string(frame: Frame, owner: StringValue, name: str, args: Arguments) -> Value:
    if name == "format_map":  # the values of what it is given count, not the keys
        return operators.filled(frame, owner, args.positional[0] if args.positional else UNKNOWN)
    parts = [owner, *map(pure_calls.text_of, pure_calls.spread(frame, args).all())]  # `"-".join([name, str(rank)])`
    made = derived(ranks.nonlinear(ranks.combine_all(each.rank for each in parts)), Kind.STRING, *parts)
    if name == "format" and _is_text(owner):
        return made.but(const=_FIELD.sub(WILDCARD, owner.const))
    return made


def _is_of_engine(owner: Value, name: str) -> bool:
    """Whether a method is that of an engine of DeepSpeed: what no model and nothing else has."""
    if name in engines.OF_MODELS:
        return isinstance(owner, ModelValue) and not isinstance(owner, ProjectModel)
    return name in engines.UNIQUE and not isinstance(owner, ProjectInstance)


def _loaded_by_one_of(classes: OneOfClasses, name: str) -> Value | None:
    """What a class method that loads something gives, whichever of some classes it is called on."""
    made = [library.maker(f"{library.canonical(cls)}.{name}") for cls in sorted(classes.names)]
    found = [value for value in made if value is not None]
    return join_all(found) if len(found) == len(made) else None


def _call_on_something(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of what is of no known class: its name may tell."""
    unique = library.unique_method(name)
    if unique is not None:
        return library_calls.call_method(frame, owner, unique, name, args, node)
    row = torch_ops.of_method(name)
    if owner.kind is Kind.UNKNOWN and row.rank in tensors.TO_HOST:
        # Only tensors and array scalars have these.
        return tensors.method(row, owner, args.positional, args.keywords)
    if owner.kind is Kind.UNKNOWN and name == "size" and any(type(each.const) is int for each in args.positional):
        return NumberValue(owner.rank, scalar=True, dtype="int")  # of other things it takes no dimension
    if isinstance(owner, FunctionValue) and name == "__call__":
        return frame.engine.call_value(frame, owner, args, node)
    return _call_on_unknown(frame, owner, name, args, node)


# A field of `"{}/loss".format(split)`; such a text is a key of the same kind as `f"{split}/loss"`.
_FIELD = re.compile(r"\{[^{}]*\}")


def _is_text(value: Value) -> bool:
    return isinstance(value.const, str)


def _call_on_unknown(frame: Frame, owner: Value, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of something whose class is not known: the same everywhere only if all that goes in is."""
    if owner.kind in (Kind.UNKNOWN, Kind.NONE) and heuristics.tells_rank(name) and not args.all():
        return attributes.named_rank(frame, name)
    handed_models.note(frame, name, args, node)
    if name == "requires_grad_":
        wrapped_models.freeze(frame, owner, args, callee_of(node))
    is_same = owner.rank.state is State.SAME and owner.kind is not Kind.NONE
    if is_same and args.rank().state is State.SAME and not _has_cells(args):
        return SAME
    result = frame.engine.unresolved(frame, args, node)
    of_settings = owner.rank == ranks.SETTING and settings.of_settings(owner, args)
    if of_settings or (name == "get" and settings.may_be(result) and _asks_settings(frame, owner, args, node)):
        result = settings.SETTING
    if (
        {owner.kind, result.kind} <= _NO_KIND
        and heuristics.GENERATES_TEXT.fits(name)
        and Origin.DATA in args.rank().origins
    ):
        result = BatchValue(
            ranks.LOCAL, BatchRole.FIELD, why=frame.step(node, "`{}` is computed from this rank's own data")
        )
    for refine in frame.domains.unknown_method:
        result = refine(frame, owner, name, args, node, result)
    return result


def _asks_settings(frame: Frame, owner: Value, args: Arguments, node: cst.CSTNode) -> bool:
    """`config.get("seed", 0)`, with a default that is the same everywhere."""
    func = node.func if isinstance(node, cst.Call) else None
    stands = func.value if isinstance(func, cst.Attribute) else None
    key, *others = args.all() or (UNKNOWN,)
    return all(each.rank.is_alike for each in others) and settings.of_object(frame, stands, owner, key)


_NO_KIND = frozenset({Kind.INSTANCE, Kind.NONE, Kind.UNKNOWN})


def _has_cells(args: Arguments) -> bool:
    return any(value.kind is Kind.CONTAINER for value in args.all())


# Methods of a NamedTuple, and of a model of pydantic, that make a dict of its fields.
_DUMPS = frozenset({"_asdict", "model_dump"})


def _call_on_instance(frame: Frame, owner: InstanceValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    if not isinstance(owner, ProjectInstance):
        return _call_on_library_instance(frame, owner, name, args, node)
    cls = owner.cls
    method = cls.find(name)
    if method is not None and not method.is_property:
        return call_method(frame, owner, cls, method, args, node)
    if name in _DUMPS:
        made = dict_constructors.of_fields(frame, owner, node)
        if made is not None:
            return made
    value = attributes.read(frame, owner, name, callee_of(node))
    if isinstance(value, BoundMethod) and (value.owner, value.name) == (owner, name):
        return library_calls.call_inherited(frame, owner, cls, name, args, node)
    if value.rank.state is State.BOTTOM:
        return BOTTOM
    if value is not UNKNOWN:
        return frame.engine.call_value(frame, value, args, node)
    return library_calls.call_inherited(frame, owner, cls, name, args, node)


def call_method(
    frame: Frame, owner: Value, cls: ClassInfo, method: FunctionInfo, args: Arguments, node: cst.CSTNode
) -> Value:
    """A method in sight. An inherited one runs as its own class's, unless it shows metrics, or that is a mixin."""
    if method.cls is not None and method.cls.canonical:
        # The linted project is the library: its own sinks and collectives are still what they are.
        for row in library.rows(f"{method.cls.canonical}.{method.name}"):
            if isinstance(row, Sink):
                sinks.show(frame, row, args, node)
            elif isinstance(row, Collective):
                return collectives.collective(frame, row, args, node)
    if frame.cls is cls:
        facts_of = tuple((value.rank, value.kind, value.wrapping) for value in args.all())
        cls.calls.setdefault(method.name, {})[(id(node), facts_of)] = (args, frame.memory, frame.trace, frame.stepping)
    if method.is_open and not frame.engine.own_rows(method):
        method.reached = True
        return frame.engine.unresolved(frame, args, node)
    is_own = method.cls in (None, cls.origin) or method.shows or frame.engine.is_mixed_in(method.cls, cls)
    runs_as = cls if is_own or method.cls is None else method.cls
    receiver = owner if runs_as is cls else ProjectInstance(runs_as)
    return frame.engine.call(frame, method, args, node, None if method.is_static else receiver)


def _call_on_library_instance(
    frame: Frame, owner: InstanceValue, name: str, args: Arguments, node: cst.CSTNode
) -> Value:
    if isinstance(owner, PreparedObject):
        if name == models.INNER_MODEL:  # `model.module(batch)`: a wrapper has no such method
            inner = attributes.read(frame, owner, name, callee_of(node))
            return frame.engine.call_value(frame, inner, args, node)
        value = attributes.read(frame, owner, name, callee_of(node), called=True)
        return _prepared_result(frame, owner, name, value, args)
    cls = library_name_of(owner)
    if cls == attributes.ENVIRON:
        return attributes.environment(frame, args.positional[0]) if args.positional else SAME
    if cls.startswith("torch.nn.") or isinstance(owner, PureObject):
        return pure_result(pure_calls.spread(frame, args))
    return library_calls.call_method(frame, owner, cls, name, args, node)


def _prepared_result(frame: Frame, owner: Value, name: str, value: Value, args: Arguments) -> Value:
    if name in ("parameters", "named_parameters", "state_dict", "train", "eval"):
        return SAME
    return value if value.rank.state is State.SAME and not args.differing() else UNKNOWN


def _call_on_class(frame: Frame, owner: ClassValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    method = owner.cls.find(name)
    if method is not None:
        is_given = "classmethod" in method.decorators and not method.is_static
        return frame.engine.call(frame, method, args, node, owner if is_given else None)
    if name in ("from_pretrained", "from_config"):
        return instantiation.instance_of(owner.cls)
    return frame.engine.unresolved(frame, args, node)

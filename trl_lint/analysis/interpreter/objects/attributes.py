"""Attributes of models, of objects of project classes, and of instances of library classes."""

from __future__ import annotations

from collections import Counter, deque

import libcst as cst

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.interpreter.objects import (
    bare_in_hooks,
    chosen_names,
    given_fields,
    given_wrappers,
    kept_by_hooks,
    kept_objects,
    method_order,
    model_outputs,
    named_ranks,
    numbers_of_some,
    options,
    own_wrappers,
    passed_models,
    present_on_some,
    restored_attributes,
    settings_objects,
)
from trl_lint.analysis.interpreter.objects.attribute_tests import (
    fails_bare,
    is_set_on_wrapper,
    is_wrapped_later,
    may_be_left_bare,
    wrappers_have,
)
from trl_lint.analysis.interpreter.operations import dict_constructors, metrics, paths
from trl_lint.analysis.program.definitions import flags_given_alike, names_of_options, wrapper_attributes
from trl_lint.analysis.program.definitions.objects import (
    ClassValue,
    FunctionValue,
    ProjectInstance,
    ProjectModel,
    class_of,
)
from trl_lint.analysis.program.definitions.reduced_forwards import APPLY
from trl_lint.analysis.program.idioms.result_uses import has_no_module
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state import containers, settings
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.records import Field
from trl_lint.analysis.state.written_lengths import as_kept
from trl_lint.analysis.transfer.models import engine_models, frozen_models, frozen_parts, paces, wrapped_models
from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.domain import ranks
from trl_lint.domain.choices import AmongOthers, OneOfModules, OneOfProjectObjects, SomeFile
from trl_lint.domain.constants import MISSING
from trl_lint.domain.derived import derived, of_drawn_table
from trl_lint.domain.devices import Device
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join, join_all
from trl_lint.domain.kinds import (
    AveragedModel,
    BasePrefix,
    BatchRole,
    BoundMethod,
    ContainerValue,
    InstanceValue,
    LibraryInstance,
    LibraryName,
    MetricObject,
    ModelValue,
    PathValue,
    PreparedObject,
    ProjectName,
    PureObject,
    SizesValue,
    StoreFactory,
    StringValue,
    flag,
    library_name_of,
    role_of,
)
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import BOTTOM, SAME, UNKNOWN, WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping
from trl_lint.knowledge import datasets, heuristics, library, models
from trl_lint.knowledge.evaluation import RESULTS
from trl_lint.knowledge.model_libraries import AVERAGED_COPY
from trl_lint.knowledge.python import DICTS_OF_ATTRIBUTES
from trl_lint.knowledge.random_draws import PARTS_OF_TABLES
from trl_lint.knowledge.schema import LOADED, OWN_DEVICE, SETTING, WORLD
from trl_lint.knowledge.torch import ALIKE_OF_DEVICES


def observe_library(frame: Frame, receiver: Value, node: cst.Attribute) -> None:
    """Tell observers that an attribute of a library's object, or a name in a library, is read or set."""
    if isinstance(receiver, (LibraryInstance, LibraryName)):
        for observe in frame.observers.attribute:
            observe(frame, receiver, node.attr.value, node)


def read(frame: Frame, receiver: Value, name: str, node: cst.CSTNode, called: bool = False) -> Value:
    """The value of `receiver.name`."""
    receiver = frame.engine.settle(receiver)
    match receiver:
        case LibraryName() | ProjectName():
            return frame.engine.member(receiver, name)
        case InstanceValue():
            return _of_instance(frame, receiver, name, node, called)
        case SomeFile():
            return chosen_names.attribute(receiver, name)
        case OneOfModules() | OneOfProjectObjects():
            having = options.having(frame, receiver, name)
            return join_all([read(frame, each, name, node, called) for each in having])
        case ModelValue():
            return of_model(frame, receiver, name, node, called)
        case AmongOthers() if (methods := options.methods(receiver, name)) is not None:
            return methods
        case PathValue():
            return paths.attribute(receiver, name)
        case Field():
            return receiver.as_a(StringValue) if name == "name" else UNKNOWN
        case AveragedModel() if name == AVERAGED_COPY:
            return UNKNOWN.replace(grad=False)
    if receiver.rank.state is State.BOTTOM:
        return BOTTOM
    if receiver.kind in _DATA or receiver.rank.differs:
        value = _of_data(frame, receiver, name)
        for refine in frame.domains.attribute:
            value = refine(frame, receiver, name, value)
        return value
    match receiver:
        case ClassValue():
            return _of_class(frame, receiver, name)
        case MetricObject() if name in RESULTS:
            return metrics.result(frame, receiver)
        case ContainerValue():
            return BoundMethod(receiver, name) if called else _of_container(frame, receiver, name)
    return _of_unknown_object(frame, receiver, name, node)


_DATA = frozenset({Kind.TENSOR, Kind.BATCH, Kind.NUMBER_LIST})


def _of_container(frame: Frame, receiver: ContainerValue, name: str) -> Value:
    """`append = losses.append`, or `args.local_rank` of a dict of attributes whose entries are not known here."""
    part = containers.part_of_dict(frame, receiver, name)
    if part is not None:
        return part
    if heuristics.is_rank_name(name):
        return named_ranks.named_rank(frame, name)
    return BoundMethod(receiver, name) if any(hasattr(each, name) for each in _CONTAINERS) else UNKNOWN


_CONTAINERS = (dict, list, set, tuple, deque, Counter)


# What an object's class is called, is the same on all ranks: `self.__class__.__name__`.
_NAMES_OF_CLASSES = frozenset({"__module__", "__name__", "__qualname__"})


def _of_unknown_object(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """An attribute of an object of unknown class, guessed from its name."""
    kind = receiver.kind
    owner = last_name(node.value) if isinstance(node, cst.Attribute) else ""
    if name in _NAMES_OF_CLASSES and owner == "__class__":
        return SAME
    assigned = given_fields.read(frame, node, name) if kind is Kind.UNKNOWN else None
    if assigned is not None:
        return assigned
    unique = library.unique_method(name)
    if unique is not None and kind is Kind.UNKNOWN:
        found = _library_attribute(frame, unique, name, LibraryInstance(unique))
        if found is not None:
            return found
    is_gpu = (owner, name) == ("device", "index")  # `x.device.index`: each process has a GPU of its own
    if kind in (Kind.UNKNOWN, Kind.NONE) and (is_gpu or heuristics.is_rank_name(name)):
        return named_ranks.named_rank(frame, name)
    if kind is Kind.UNKNOWN and heuristics.WORLD_FIELD.fits(name):
        return WORLD
    if receiver.is_unknown and name == "shape":
        return SizesValue(ranks.UNKNOWN, dtype="int")
    if receiver.is_unknown and name == models.INNER_MODEL:
        return UNKNOWN
    if kind is Kind.NONE:
        return UNKNOWN  # a subclass or a caller whose source is unavailable assigns something else
    of_agreed = Value(ranks.AGREED) if receiver.rank == ranks.AGREED else UNKNOWN
    value = SAME if receiver.rank.state is State.SAME else of_agreed
    return of_drawn_table(receiver, value) if name in PARTS_OF_TABLES else value


def of_options(frame: Frame, node: cst.Name) -> Value:
    """A name that nothing binds but all options of the module at once: `globals().update(vars(args))`."""
    owners = names_of_options.owners(frame.module)
    owner = frame.engine.global_name(frame.module, owners[0], frame) if len(owners) == 1 else None
    return UNKNOWN if owner is None else read(frame, owner, node.value, node)


def of_unknown_library(frame: Frame, value: LibraryName) -> Value:
    """A name imported from an unavailable file and not called: `from options import args; args.local_rank`."""
    name = value.name.rpartition(".")[2]
    is_other = not heuristics.is_rank_name(name) or name.startswith("get_")
    return value if is_other or library.rows(library.canonical(value.name)) else named_ranks.named_rank(frame, name)


def _of_data(frame: Frame, receiver: Value, name: str) -> Value:
    if role_of(receiver) is BatchRole.OUTPUT:
        return model_outputs.attribute(frame, receiver, name)
    found = tensors.attribute(receiver, name)
    if found is not None:
        return found
    return derived(receiver.rank, Kind.BATCH if receiver.kind is not Kind.TENSOR else Kind.TENSOR, receiver)


# --- models ---------------------------------------------------------------------------------------------


def of_model(frame: Frame, model: Value, name: str, node: cst.CSTNode, called: bool = False) -> Value:
    """An attribute of a model. An attribute that the wrapper does not forward is reported to the rules."""
    if name == models.INNER_MODEL:
        return wrapped_models.module_of(frame, model, node)
    if name == "training":
        return flag()
    if own_wrappers.has(frame, model, name) or own_wrappers.is_guarded_by_unknown_test(frame, model, node):
        return UNKNOWN
    is_there = model.wrapping not in WRAPPED_ON_SOME_WAY or _is_readable(frame, model, name, node)
    is_there = is_there or is_wrapped_later(frame, model) or is_set_on_wrapper(frame, model, name, node)
    if not is_there and not may_be_left_bare(frame, model, node) and not fails_bare(frame, model, name):
        frame.emit(
            AttributeRead,
            node,
            model=model,
            attribute=name,
            called=called,
            cls=frame.cls,
            accelerator=frame.accelerator(),
        )
    if name in models.LASTING:
        return LOADED
    if name in models.DATA:
        return SAME
    if name in library.WRAPPER_ATTRIBUTES:
        return BoundMethod(model, name)
    if name == models.BASE_PREFIX:
        return BasePrefix(ranks.SAME)
    if heuristics.MAKES_INPUTS.fits(name):
        return UNKNOWN
    if name in models.PARAMETERS and model.wrapping is Wrapping.UNWRAPPED:
        return wrapped_models.parameter(frame, model, name, node)
    if not called and _is_method(model, name):
        return BoundMethod(model, name)
    is_frozen = not called and model.wrapping is Wrapping.UNWRAPPED and frozen_parts.is_frozen(frame, model, node)
    return wrapped_models.part(model).replace(grad=model.grad and not is_frozen)


def _is_method(model: Value, name: str) -> bool:
    """Whether an attribute of a bare model is a method of its class: `make = model.module.new_cache`."""
    cls = class_of(model)
    method = None if cls is None or model.wrapping in WRAPPED_ON_SOME_WAY else cls.find(name)
    return method is not None and not method.is_property


def _is_readable(frame: Frame, model: Value, name: str, node: cst.CSTNode) -> bool:
    """Whether the wrapper has the attribute, or the code allows for its absence or for another engine."""
    if wrappers_have(frame, model, name) or frame.attribute_error_depth > 0 or frame.memory.control.engine:
        return True
    if not isinstance(node, cst.Attribute):
        return False
    known = [each for each in frame.set_attributes if each.deep_equals(node)]
    is_set = any(not wrapper_attributes.is_set_on_bare_model(frame.root, each) for each in known)
    return is_set or has_no_module(frame.root, node)


# --- instances ------------------------------------------------------------------------------------------


def _of_instance(frame: Frame, receiver: Value, name: str, node: cst.CSTNode, called: bool) -> Value:
    match receiver:
        case ProjectInstance():
            return _of_object(frame, receiver, name, node)
        case PreparedObject() if isinstance(node, cst.Attribute) and wrapped_models.is_never_wrapped(node.value):
            return UNKNOWN
        case PreparedObject():
            if name in models.ONLY_MODELS_HAVE or name == models.INNER_MODEL:
                return of_model(frame, wrapped_models.narrowed_at(frame, receiver, node), name, node, called)
            if name in library.OPTIMIZER_LOADER_ATTRIBUTES:
                return SAME
            if isinstance(node, cst.Attribute) and wrapped_models.is_run(frame, node.value):
                return of_model(frame, wrapped_models.narrowed_at(frame, receiver, node), name, node, called)
            return UNKNOWN
        case LibraryInstance():
            if receiver.name in DICTS_OF_ATTRIBUTES:
                is_rank = heuristics.is_rank_name(name)
                other = named_ranks.named_rank(frame, name) if is_rank else settings.attribute_of(receiver, name)
                return given_fields.read(frame, node, name) or other
            if receiver.name == OWN_DEVICE.name:
                return SAME if name in ALIKE_OF_DEVICES else UNKNOWN
            of_module = engine_models.attribute(receiver, name)
            return of_module or _library_attribute(frame, receiver.name, name, receiver) or UNKNOWN
    return SAME if isinstance(receiver, PureObject) else UNKNOWN


def _of_object(frame: Frame, receiver: ProjectInstance, name: str, node: cst.CSTNode) -> Value:
    cls = receiver.cls
    if not cls.made:
        frame.engine.note_used(cls)
    custom = frame.engine.custom_attribute(cls, name) if frame.engine.custom else None
    if custom is not None:
        return custom.value
    if (bare := bare_in_hooks.model_here(frame, cls, name)) is not None:
        return bare
    value = frame.read_attribute(cls, name)
    if value is not None:
        for known_of in _KNOWN_FROM_OTHER_CODE:
            value = known_of(frame, cls, name, value)
        value = method_order.wrapped_value(frame, cls, name, value, node)
        value = given_wrappers.given_model(frame, cls, name, value, node)
        value = present_on_some.of_attribute(frame, cls, name, value, node)
    if value is not None and value.rank.state is State.SAME and heuristics.MAIN_PROCESS.fits(name):
        return UNKNOWN  # a caller decides about a default
    if value is not None and (value.rank.state is not State.BOTTOM or cls.state != "new"):
        return _before_assignment(frame, receiver, name) if value.rank.state is State.BOTTOM else value
    method = cls.find(name)
    if method is not None:
        if method.is_property:
            return frame.engine.call_property(frame, receiver, method, node)
        return BoundMethod(receiver, name)
    if name == "__dict__":
        return dict_constructors.of_fields(frame, receiver, node) or UNKNOWN
    for base in cls.library_bases():
        found = _library_attribute(frame, base, name, receiver)
        if found is not None:
            if value is not None and found.wrapping is Wrapping.UNWRAPPED:
                # The class assigns another model itself.
                return wrapped_models.part(found).replace(wrapping=Wrapping.BARE)
            return _remember(frame, cls, name, found)
    found = frame.engine.class_variable(cls, name, frame) or named_ranks.given(frame, cls, name)
    return found or settings_objects.kept_option(frame, cls, name) or kept_by_hooks.value_of(receiver, name)


def _as_annotated(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """An object of the class with which the class annotates the attribute, if nothing is known of what is assigned."""
    annotated = frame.engine.class_variable(cls, name) if value is UNKNOWN else None
    return annotated if isinstance(annotated, ProjectInstance) else value


def _as_given_alike(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """A flag that all objects of the class are made with, if what is known of it leaves it open."""
    if value.const is not MISSING or value.kind not in _MAY_BE_FLAGS or value.rank.differs:
        return value
    given = flags_given_alike.flag_given(frame.engine.project, cls.origin, name)
    return value if given is None else flag(given)


_MAY_BE_FLAGS = frozenset({Kind.NUMBER, Kind.UNKNOWN})


# What other code than the assignments that reach a read shows of an attribute of `self`: each gets the value so far.
_KNOWN_FROM_OTHER_CODE = (
    method_order.value_left,
    passed_models.passed_model,
    passed_models.model_of_loss,
    _as_annotated,
    _as_given_alike,
    numbers_of_some.value_left_by_some,
)


def _before_assignment(frame: Frame, receiver: ProjectInstance, name: str) -> Value:
    """The value of an attribute before its first known assignment: a data set or a wrapped model of a base class."""
    found = (_library_attribute(frame, base, name, receiver) for base in receiver.cls.library_bases())
    return next((each for each in found if each is not None and _is_replaced(each)), BOTTOM)


def _is_replaced(value: Value) -> bool:
    """Whether it is a value that classes often replace, for a while or for good."""
    return datasets.is_dataset(value) or wrapping_of(value) is Wrapping.WRAPPED


def _remember(frame: Frame, cls: ClassInfo, name: str, found: Value) -> Value:
    """Keep the metric store of a library's base class: one container that all methods of the class share."""
    if found.kind is not Kind.CONTAINER:
        return found
    frame.write_attribute(cls, name, found)
    return found


def _library_attribute(frame: Frame, cls: str, name: str, receiver: Value) -> Value | None:
    row = frame.engine.library_attribute(cls, name)
    if row is not None:
        value = SETTING if row.at_first and settings.is_assigned(frame, name) else row.value
        if value.rank.differs and value.provenance is None:
            differs = "depends on the rank" if value.rank.origins == Origin.RANK else "differs between ranks"
            provenance = frame.step(frame.statement, f"`.{name}` {differs}")
            return value.replace(provenance=provenance, device=Device(value.device, provenance) if value.device else "")
        if wrapping_of(value) is Wrapping.WRAPPED:
            return value.replace(provenance=frame.step(frame.statement, f"`.{name}` is the wrapped model"))
        return value
    if library.store(cls, name, frame.engine.versions) is not None:
        return _opened_store(frame, receiver, name)
    if frame.engine.library_method(cls, name) is not None:
        return BoundMethod(receiver, name)
    return None


def _opened_store(frame: Frame, receiver: Value, name: str) -> Value:
    """The container of metrics that a library's trainer keeps; its nesting follows from its uses."""
    identity = frame.engine.store_identity(class_of(receiver) or library_name_of(receiver), name)
    frame.memory.heap.setdefault(identity, Cell("dict", factory=StoreFactory(ranks.SAME)))
    return ContainerValue(ranks.SAME, frozenset((identity,)))


def _of_class(frame: Frame, receiver: ClassValue, name: str) -> Value:
    method = receiver.cls.find(name)
    if method is not None:
        return FunctionValue(method)
    if name == APPLY:  # `self.gather = AllGather.apply`, a function of autograd
        return BoundMethod(receiver, name)
    return named_ranks.set_on_class(frame, receiver.cls, name) or kept_objects.read(frame, receiver.cls, name)


# --- assignment -----------------------------------------------------------------------------------------


def assign_attribute(frame: Frame, receiver: Value, target: cst.Attribute, value: Value) -> None:
    """`receiver.name = value`."""
    observe_library(frame, receiver, target)
    paces.switched(frame, receiver, target.attr.value, value)
    for note in frame.domains.stored:
        note(frame, target, value)
    if target.attr.value == "requires_grad" and value.const is not False:
        frozen_models.parameter_trained(frame, target.value)
    frame.asks_for_engine |= heuristics.NAMES_ENGINE.fits(target.attr.value)  # `args.deepspeed = None` turns it off
    wrapping = receiver.wrapping if isinstance(receiver, ModelValue) else None
    may_be_wrapped = wrapping is not None and not wrapping.is_bare
    if isinstance(receiver, PreparedObject) or may_be_wrapped:
        frame.set_attributes.append(target)
    if isinstance(receiver, ProjectInstance):
        method_order.note_wrapping(frame, receiver.cls, target, value)
        given_wrappers.note(frame, receiver.cls, target, value)
        value = restored_attributes.as_saved(frame, receiver.cls, target, value)
        kept = as_kept(value.replace(pending=frozenset()) if value.pending else value)
        given_wrappers.keep(frame, receiver.cls, target, kept)
    elif isinstance(receiver, ProjectModel):
        given_wrappers.note(frame, receiver.cls, target, value)
    elif isinstance(receiver, OneOfProjectObjects):
        for each in receiver.options:
            assign_attribute(frame, each, target, join(read(frame, each, target.attr.value, target), value))
    elif given_fields.may_be_set(frame, receiver):
        given_fields.assign(frame, target, value)

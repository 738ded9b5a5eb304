"""Objects created by calling project classes, and by the factories of defaultdicts."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from trl_lint.analysis.interpreter.calls import callbacks, library_calls
from trl_lint.analysis.interpreter.conditions import none_tests
from trl_lint.analysis.interpreter.objects import (
    given_fields,
    models_of_trainers,
    own_wrappers,
    passed_models,
    settings_objects,
    subscripts,
)
from trl_lint.analysis.interpreter.operations import dict_constructors
from trl_lint.analysis.program.definitions import fixed_flags
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue, ProjectInstance, ProjectModel
from trl_lint.analysis.program.definitions.own_loaders import adds_nothing
from trl_lint.analysis.program.definitions.run_arguments import runs_an_argument
from trl_lint.analysis.program.definitions.self_trained import trains_itself
from trl_lint.analysis.program.idioms.unpacked_turns import turns
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.state import records
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import synchronising_methods
from trl_lint.analysis.transfer.models.wrapped_models import is_wrapped
from trl_lint.analysis.transfer.processes import made_on_some
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import ContainerValue, LibraryName, NumberValue, StoreFactory
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping

# Larger classes are whole programs, with a single object. Properties do not count: counters have many.
MAX_METHODS = 12


def instance_of(cls: ClassInfo) -> Value:
    if is_module_class(cls) and not trains_itself(cls):
        return ProjectModel(cls, wrapping=Wrapping.BARE)
    return ProjectInstance(cls)


def instantiate(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> Value:
    found = own_wrappers.wrapped_by_project_class(frame, cls, args, node) or settings_objects.settings_of(cls, args)
    if found is None and settings_objects.is_dict_of(cls, args):
        found = dict_constructors.new_dict(frame, args, node)
    return found if found is not None else _instantiate(frame, cls, args, node)


def takes(cls: Value, args: Arguments) -> bool:
    """Whether a class may be called with these arguments, as far as its own `__init__` tells."""
    init = cls.cls.find("__init__") if isinstance(cls, ClassValue) else None
    return init is None or args.fit(init.parameters[1:])


def _instantiate(
    frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode, site: Hashable | None = None
) -> Value:
    """A new object. site: where it is allocated, unless that is the call."""
    made_on_some.note(frame, cls, node)
    site = _site_of(frame, node) if site is None else site
    instance: Value = instance_of(_of_site(frame, cls, args, site))
    if instance.kind is Kind.MODEL:
        _build_around_wrapped(frame, cls, args, node)
        return instance
    for base in cls.library_bases():
        for observe in frame.observers.instantiate:
            observe(frame, base, args, node)
    callbacks.enter_callbacks(frame, cls, args, node)
    for each in cls.lineage():
        passed_models.note_losses(frame, each.name if isinstance(each, ClassInfo) else each or "", args, node)
    if frame.engine.is_subclass(cls, "transformers.Trainer"):
        models_of_trainers.note(frame, cls, args)
        frame.trace.launch(Step(frame.module, node, "each process creates this trainer"), node)
    init = None if records.generates_init(cls) else cls.find("__init__")
    if init is not None and not frame.engine.is_entry_class(cls):
        frame.engine.call(frame, init, args, node, instance)
    elif init is None:
        _fill_record(frame, instance.cls if isinstance(instance, ProjectInstance) else cls, args)
        _complete(frame, cls, args, node, instance)
        library_calls.note_entries(frame, instance, cls, args, node)
        loader = library_calls.note_loader(frame, instance, args, node)
        if loader is not None and adds_nothing(cls):
            return loader
    for refine in frame.domains.created:
        instance = refine(frame, cls.library_bases(), args, node, instance)
    return instance if cls.find("__new__") is not None else none_tests.present(instance)


def _site_of(frame: Frame, node: cst.CSTNode) -> Hashable:
    """Where an object is created, and by which object, if that is itself distinguished: `self.loss = Meter()`.

    A function that trains in some calls, and evaluates in others with gradients off, makes another meter in these. In
    `losses, scores = [Meter() for _ in range(2)]` each turn makes one for another name.
    """
    creator, is_off = frame.cls, not frame.memory.control.grad
    place: Hashable = (id(node), frame.unroll_index) if turns(frame.statement) else id(node)
    if creator is None or creator is creator.origin:
        return (place, is_off) if is_off else place
    return place, id(creator), is_off


def _build_around_wrapped(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> None:
    """Run the `__init__` of a module built around a wrapped model, which may read attributes of the bare model only.

    That of a module in which, or in whose parts, ranks wait for each other is run to know the parts and what they are
    made with (`ClipLoss(rank=args.rank)`), and that of a module which runs the models that it is passed to know what it
    computes with them.
    """
    init = cls.find("__init__")
    if init is None or init.cls is not cls:
        return
    is_needed = runs_an_argument(cls) or synchronising_methods.has_waiting_method(frame, cls)
    if is_needed or any(map(is_wrapped, args.all())):
        frame.engine.call(frame, init, args, node, ProjectInstance(cls))


def _of_site(frame: Frame, cls: ClassInfo, args: Arguments, site: Hashable) -> ClassInfo:
    """The class that represents the objects created here: its own, or one for this site."""
    own = cls
    if cls.attributes and _may_be_apart(frame, cls) and given_fields.has_constants(frame, args):
        own = cls.allocated_at((site, "apart"), frame.module, apart=True)
    elif _has_site_facts(frame, cls):
        own = cls.allocated_at(site, frame.module)
    if own.is_copy:
        own.fixed = fixed_flags.flags_of(frame.engine.project, cls.origin)
    return own


def _may_be_apart(frame: Frame, cls: ClassInfo) -> bool:
    """Whether an object of a class can be kept apart from others, which are there already: all its code is in sight."""
    is_in_sight = all(isinstance(each, ClassInfo) for each in cls.lineage())
    return is_in_sight and "__init__" in cls.methods and not frame.engine.is_entry_class(cls)


def _has_site_facts(frame: Frame, cls: ClassInfo) -> bool:
    """Whether objects of a class are distinguished by allocation site: small ones, such as counters, and records."""
    methods = [each for each in cls.methods.values() if "property" not in each.decorators]
    if len(methods) > MAX_METHODS or frame.engine.is_entry_class(cls):
        return False
    if "__init__" in cls.methods:
        return not cls.bases
    return records.is_named_tuple(cls) or (records.generates_init(cls) and not cls.bases)


def _fill_record(frame: Frame, cls: ClassInfo, args: Arguments) -> None:
    """Store the arguments of a dataclass or NamedTuple under the field names that it and its bases list.

    Those of `Sample(**batch)` and `Sums(*totals)` may be any of the other fields. What a `__new__` makes is not known.
    """
    if cls.find("__new__") is not None:
        return
    names = records.fields_of(cls) or list(cls.variables)
    given = {**dict(zip(names, args.positional, strict=False)), **args.keywords}
    for rest in (args.star, args.double):
        if rest is not None:
            given = {**dict.fromkeys(names, rest), **given}
    for name, value in given.items():
        if name in names:
            frame.write_attribute(cls, name, subscripts.as_field(value))


def _complete(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode, instance: Value) -> None:
    """Run what a dataclass does once its fields are there: `self.is_main = self.rank == 0` in `__post_init__`."""
    method = cls.find("__post_init__") if records.generates_init(cls) else None
    if method is None or frame.engine.is_entry_class(cls):
        return
    taken = {each.name for each in method.parameters[1:]}  # of fields that are only for it: `rank: InitVar[int]`
    given = dict(zip(records.fields_of(cls), args.positional, strict=False)) | args.keywords
    passed = Arguments(keywords={name: value for name, value in given.items() if name in taken})
    frame.engine.call(frame, method, passed, node, instance)


def call_factory(frame: Frame, factory: Value, key: Hashable, node: cst.CSTNode) -> Value:
    """The value that a defaultdict's factory creates where `node` reads a missing entry.

    key: distinguishes its entries.
    """
    if isinstance(factory, ClassValue):
        return _instantiate(frame, factory.cls, Arguments(), node, key)
    name = factory.name if isinstance(factory, LibraryName) else ""
    identity = frame.container_at(key)
    container = ContainerValue(ranks.SAME, frozenset((identity,)))
    if isinstance(factory, StoreFactory):
        frame.memory.heap[identity] = Cell("dict", factory=factory)
        return container
    if name in ("builtins.list", "builtins.dict", "builtins.set", "collections.deque"):
        shape = "dict" if name.endswith("dict") else "list"
        frame.memory.heap[identity] = Cell(shape)
        return container
    if name in ("builtins.int", "builtins.float"):
        return NumberValue(ranks.SAME, scalar=True, dtype=name[9:])
    if isinstance(factory, FunctionValue) and isinstance(factory.function.node, cst.Lambda):
        return frame.engine.evaluate(frame, factory.function.node.body)
    return UNKNOWN

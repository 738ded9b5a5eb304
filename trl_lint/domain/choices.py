"""One of several classes, chosen by a setting.

    cls = CLIPTextModel if args.small else T5EncoderModel   OneOfClasses({both}), classes of libraries
    cls.from_pretrained(path)                               a model, as both return one
    loss = (nn.MSELoss if args.square else nn.L1Loss)()     OneOfModules, as both are modules of torch
    cls = LazyRows if args.lazy else Rows                   OneOfProjectClasses((both,)), classes of the project
    cls(rows)                                               what holds for an instance of either
    train = train_first if args.first else train_second     OneOfFunctions((both,)), functions of the project
    train(model)                                            both are followed
    from rows import LazyRows, Rows
    cls = LazyRows if args.lazy else Rows                   OneOfProjectNames((both,)), looked up once it is used
    rows = LazyRows() if args.lazy else Rows()              OneOfProjectObjects((both,)), objects of the project
    rows.save(path)                                         the methods of both are followed
    args = args or OwnArguments("out")                      an instance of the library's class, if that of OwnArguments
                                                            is made from it
    loss = nn.MSELoss() if args.square else Huber()         OneOfModules((both,)), modules of torch and of the project
    loss(outputs, labels)                                   what holds for the result of either

    getattr(models, args.kind)                              NamedIn: each class of the module, once it is called

    rewards = [length_reward, args.reward]                  the element of the list: AmongOthers((length_reward,))

    if args.distributed:
        rows = DistributedSampler(data)
    else:
        rows = RandomSampler(data)                          the first, which several processes have

Too many options make an unknown value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_TRUE
from trl_lint.domain.kinds import (
    BoundMethod,
    InstanceValue,
    LibraryInstance,
    LibraryName,
    ModelValue,
    ModuleValue,
    PartialCall,
    ProjectName,
)
from trl_lint.domain.values import Facts, Kind, Value, Wrapping

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from typing_extensions import Unpack


class OneOfClasses(ModuleValue):
    """One of several library classes. names: their dotted names."""

    __slots__ = ("names",)
    parts: ClassVar[dict[str, object]] = {"names": frozenset()}

    def __init__(self, names: frozenset[str], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.names = names


class OwnInstance(InstanceValue):
    """An object of a class of the project."""

    __slots__ = ()

    def library_bases(self) -> tuple[str, ...]:
        """The names of the library classes that its class is made from."""
        return ()


class WithOptions(Value):
    """A value that may be one of several from code of the project. options: these values."""

    __slots__ = ("options",)
    parts: ClassVar[dict[str, object]] = {"options": ()}

    def __init__(self, options: tuple[Value, ...], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.options = options


class ProjectChoice(WithOptions):
    """One of several values from code of the project, and nothing else."""

    __slots__ = ()


class AmongOthers(WithOptions):
    """An element of a container with functions and objects of the project among others, of which nothing is known."""

    __slots__ = ()


class OneOfProjectClasses(ProjectChoice):
    """One of several classes of the project. options: these classes."""

    __slots__ = ()
    kind = Kind.CLASS


class OneOfFunctions(ProjectChoice):
    """One of several functions or methods. options: these, also with some arguments bound."""

    __slots__ = ()
    kind = Kind.FUNCTION


class OneOfProjectNames(ProjectChoice):
    """One of several names, one of them at least from another file of the project.

    options: names, classes and functions.
    """

    __slots__ = ()
    kind = Kind.MODULE


class OneOfProjectObjects(ProjectChoice):
    """One of several instances of classes of the project. options: these instances."""

    __slots__ = ()
    kind = Kind.INSTANCE


class OneOfModules(ProjectChoice):
    """One of several modules that are not wrapped, one of them at least from torch.nn. options: these modules."""

    __slots__ = ()
    kind = Kind.INSTANCE


class SomeFile(ModuleValue):
    """One of several modules of the project: `importlib.import_module(f"models.{args.kind}")`. paths: their files."""

    __slots__ = ("paths",)
    parts: ClassVar[dict[str, object]] = {"paths": ()}

    def __init__(self, paths: tuple[Path, ...], **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.paths = paths


class NamesOfFile(SomeFile):
    """The names of a module of the project, or of one of several: `globals()`, `vars(models)`."""

    __slots__ = ()


class NamedIn(ModuleValue):
    """What one of several modules binds to a name of which only a part is known, if any: `getattr(models, args.kind)`.

    paths: the files of the modules. pattern: the name, with wildcards for what a setting tells.
    """

    __slots__ = ("paths", "pattern")
    parts: ClassVar[dict[str, object]] = {"paths": (), "pattern": ""}

    def __init__(self, paths: tuple[Path, ...], pattern: str, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.paths = paths
        self.pattern = pattern


# How many classes are kept apart, and how many modules, such as the losses that a setting chooses from.
MAX_OPTIONS = 8
_MAX_MODULES = 8


_CALLED = frozenset({Kind.BOUND, Kind.FUNCTION})
_DEFINED = frozenset({Kind.CLASS, Kind.FUNCTION})
# These, and what stands for them in another file: its name there.
_NAMED = _CALLED | _DEFINED | {Kind.MODULE}


def one_of_definitions(a: Value, b: Value) -> ProjectChoice | None:
    """The choice between these classes, functions or imported names; None if it is of others, or of too many."""
    kinds = {a.kind, b.kind}
    if not kinds <= _NAMED:
        return None
    options = _options_of_both(a, b)
    if len(options) > MAX_OPTIONS:
        return None
    if kinds <= _CALLED:
        return a.as_a(OneOfFunctions).with_parts(options)
    if kinds == {Kind.CLASS}:
        return a.as_a(OneOfProjectClasses).with_parts(options)
    is_known = all(each.kind in _DEFINED or _is_name(each) for each in options)
    return a.as_a(OneOfProjectNames).with_parts(options) if is_known else None


def among_others(merged: Value, a: Value, b: Value) -> Value:
    """`merged`, the join of two elements of a container, with what is called of them if their kinds are not alike."""
    if merged.kind is not Kind.UNKNOWN or a.kind is b.kind is not Kind.UNKNOWN:
        return merged
    known = _called_of(a)
    options = (*known, *(each for each in _called_of(b) if not any(map(each.same_parts, known))))
    return merged.as_a(AmongOthers).with_parts(options[:MAX_OPTIONS]) if options else merged


def among_unknown(unknown: Value, results: Iterable[Value]) -> Value:
    """`unknown`, the result of a call of which only some code is known, with the objects that this code returns."""
    options = tuple(each for each in results if isinstance(each, OwnInstance))
    return unknown.as_a(AmongOthers).with_parts(options) if options and unknown.kind is Kind.UNKNOWN else unknown


def _called_of(value: Value) -> tuple[Value, ...]:
    """The functions, and objects that may be called like one, that an element of a container may be."""
    if isinstance(value, AmongOthers):
        return value.options
    receiver = value.receiver if isinstance(value, BoundMethod) else value
    is_called = value.kind is Kind.FUNCTION or _is_name(value) or isinstance(receiver, (OwnInstance, PartialCall))
    is_choice = isinstance(value, (OneOfFunctions, OneOfProjectNames, OneOfProjectObjects))
    return _options(value) if is_called or is_choice else ()


def _is_name(value: Value) -> bool:
    return isinstance(value, NamedIn) or (isinstance(value, ProjectName) and value.name is not None)


def one_object(a: Value, b: Value) -> Value | None:
    """What is known of an object that is one of these; None if it is nothing."""
    return one_of_project_objects(a, b) or one_of_modules(a, b) or one_of_library_class(a, b) or of_several(a, b)


def one_of_project_objects(a: Value, b: Value) -> OneOfProjectObjects | None:
    """The choice between these objects; None if one is neither of the project nor a metric, or they are too many."""
    options = _options_of_both(a, b)
    is_known = all(isinstance(each, OwnInstance) or is_metric(each) for each in options)
    return a.as_a(OneOfProjectObjects).with_parts(options) if is_known and len(options) <= MAX_OPTIONS else None


def is_metric(value: Value) -> bool:
    """Whether an object is a metric of torchmetrics, in whose place code may have a running mean of its own."""
    return isinstance(value, LibraryInstance) and value.name.startswith("torchmetrics.")


def one_of_library_class(a: Value, b: Value) -> LibraryInstance | None:
    """The instance of a library's class, if the other is one as well, also by a class of the project made from it."""
    for one, heir in ((a, b), (b, a)):
        if type(one) is LibraryInstance and isinstance(heir, OwnInstance) and one.name in heir.library_bases():
            return one
        if type(one) is LibraryInstance and isinstance(heir, LibraryInstance) and one.name == heir.name:
            return one
    return None


def of_several(a: Value, b: Value) -> LibraryInstance | None:
    """The object that only several processes have, if the other one is not: a sampler that shards, or a random one."""
    for one, other in ((a, b), (b, a)):
        known = one if isinstance(one, LibraryInstance) and isinstance(other, LibraryInstance) else None
        if known is not None and not known.rank.differs and known.const is WORLD_TRUE is not other.const:
            return known
    return None


def one_of_modules(a: Value, b: Value) -> OneOfModules | None:
    """The choice between these modules; None if one is something else, none is torch's, or they are too many."""
    if not (_is_module(a) and _is_module(b)):
        return None
    options = _options_of_both(a, b)
    is_of_torch = any(isinstance(each, LibraryInstance) for each in options)
    return a.as_a(OneOfModules).with_parts(options) if is_of_torch and len(options) <= _MAX_MODULES else None


def _is_module(value: Value) -> bool:
    if isinstance(value, LibraryInstance):
        return value.name.startswith("torch.nn.")
    return isinstance(value, OneOfModules) or (isinstance(value, ModelValue) and value.wrapping is Wrapping.BARE)


def _options_of_both(a: Value, b: Value) -> tuple[Value, ...]:
    known = _options(a)
    return (*known, *(each for each in _options(b) if not any(map(each.same_parts, known))))


def _options(value: Value) -> tuple[Value, ...]:
    """The options of a choice, or a single one. Which ranks lack it is a fact of the choice, not of the option."""
    if isinstance(value, ProjectChoice):
        return value.options
    return (value.as_present(),)


def classes_of(value: Value) -> frozenset[str]:
    """The dotted names of the library class or classes that a value may be; empty for everything else."""
    if isinstance(value, OneOfClasses):
        return value.names
    is_class = isinstance(value, LibraryName) and value.name.rpartition(".")[2][:1].isupper()
    return frozenset({value.name}) if is_class and isinstance(value, LibraryName) else frozenset()

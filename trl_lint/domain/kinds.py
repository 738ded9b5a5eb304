"""The kinds of abstract values: a class for each, with what is known of such a value in addition to its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from trl_lint.domain import ranks, shapes
from trl_lint.domain.absence import Instead
from trl_lint.domain.constants import MISSING, OnOneProcess
from trl_lint.domain.ranks import Rank
from trl_lint.domain.values import Facts, Kind, Value

if TYPE_CHECKING:
    from pathlib import Path

    from libcst import CSTNode
    from typing_extensions import Unpack

    from trl_lint.domain.loader_samplers import Sampling
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.shapes import Shape


# The maximum number of containers that one value may be: each use of it visits all of them, and what they hold.
MAX_ALTERNATIVES = 64

# --- what computes --------------------------------------------------------------------------------------


class ParameterSource(NamedTuple):
    """Where a parameter of a sharded model was read: its name, the expression, the function around it."""

    name: str
    node: CSTNode
    function: object


@dataclass(slots=True, eq=False, repr=False)
class TensorValue(Value):
    """A tensor, or an array. parameter: where it was read, if it is a parameter of a model."""

    kind = Kind.TENSOR
    parts: ClassVar[dict[str, object]] = {"parameter": None}

    parameter: ParameterSource | None = None


@dataclass(slots=True, eq=False, repr=False)
class NumberValue(Value):
    """A Python number. source: the value it was read from. on_one_process: what it is on a single process."""

    kind = Kind.NUMBER
    parts: ClassVar[dict[str, object]] = {"source": None, "on_one_process": None}

    source: Value | None = None
    on_one_process: OnOneProcess | None = None


@dataclass(slots=True, eq=False, repr=False)
class NumberListValue(Value):
    """A list of Python numbers. source: the value they were read from."""

    kind = Kind.NUMBER_LIST
    parts: ClassVar[dict[str, object]] = {"source": None}

    source: Value | None = None


class StringValue(Value):
    __slots__ = ()
    kind = Kind.STRING


class PathValue(StringValue):
    """A `pathlib.Path`."""

    __slots__ = ()


class BasePrefix(StringValue):
    """`model.base_model_prefix`: the name of the attribute that holds the model without its head."""

    __slots__ = ()


class NoneValue(Value):
    __slots__ = ()
    kind = Kind.NONE


class SizesValue(Value):
    """`x.shape`: the sizes of a tensor, whose shape it carries."""

    __slots__ = ()


class LoadedFiles(Value):
    """An object that is loaded from small files and saved to them: a tokenizer, a processor, a config."""

    __slots__ = ()


class DeviceValue(Value):
    """A `torch.device`."""

    __slots__ = ()


# --- data -----------------------------------------------------------------------------------------------


class BatchRole(Enum):
    WHOLE = "what a data loader yields"
    FIELD = "one named field of a batch, as the collator made it"
    METRICS = "a dict of metrics: every entry has the fact"
    OUTPUT = "a model's output"


@dataclass(slots=True, eq=False, repr=False)
class BatchValue(Value):
    """A batch or a similar structure: any key or attribute of it is a piece of it."""

    kind = Kind.BATCH
    parts: ClassVar[dict[str, object]] = {"role": BatchRole.WHOLE}

    role: BatchRole = BatchRole.WHOLE


@dataclass(slots=True, eq=False, repr=False)
class LoaderValue(Value):
    """A data loader: iterating yields a batch per step. sampler: the one that shuffles for all ranks, or none."""

    kind = Kind.LOADER
    parts: ClassVar[dict[str, object]] = {"batch": None, "sampler": None}

    batch: Value | None = None
    sampler: Sampling | None = None

    @property
    def batches(self) -> tuple[Value, Rank]:
        """One batch, and whether there are as many on all ranks."""
        if self.batch is None or self.batch.rank.how != ranks.DEALT:
            return self.batch or Value(), ranks.SAME
        return self.batch.replace(rank=ranks.of_elements(self.batch.rank)), ranks.of_length(self.batch.rank)

    def inside(self) -> Sequence[Value]:
        return () if self.batch is None else (self.batch,)


# --- containers -----------------------------------------------------------------------------------------


# Identifies a container on the abstract heap.
Identity: TypeAlias = int


class TupleValue(Value):
    items: tuple[Value, ...]
    __slots__ = ("items",)
    kind = Kind.TUPLE
    parts: ClassVar[dict[str, object]] = {"items": ()}

    def __init__(self, rank: Rank = ranks.UNKNOWN, items: Sequence[Value] = (), **facts: Unpack[Facts]) -> None:
        super().__init__(rank, **facts)
        self.items = tuple(items)

    def inside(self) -> Sequence[Value]:
        return self.items


@dataclass(slots=True, eq=False, repr=False)
class ContainerValue(Value):
    """One of several mutable containers. identities: those of their contents on the heap."""

    kind = Kind.CONTAINER
    parts: ClassVar[dict[str, object]] = {"identities": frozenset()}

    identities: frozenset[Identity] = frozenset()

    def one_of(self, identities: frozenset[Identity]) -> Value:
        """This value as one of these containers; an unknown one if they are too many to look at each of them."""
        return self.with_parts(identities) if len(identities) <= MAX_ALTERNATIVES else self.as_a(Value)


class MetricObject(ContainerValue):
    """A metric that is updated batch by batch and holds what it was updated with."""

    __slots__ = ()


class IterableValue(Value):
    """Something to loop over. length: whether the number of elements is the same on all ranks.

    view: the dict that it is a view of, and which view ("keys", "values" or "items").
    """

    __slots__ = ("element", "length", "view")
    kind = Kind.ITERABLE
    parts: ClassVar[dict[str, object]] = {"element": None, "length": ranks.UNKNOWN, "view": None}

    def __init__(
        self,
        rank: Rank,
        element: Value,
        length: Rank,
        view: tuple[ContainerValue, str] | None = None,
        **facts: Unpack[Facts],
    ) -> None:
        super().__init__(rank, **facts)
        self.element = element
        self.length = length
        self.view = view

    def inside(self) -> Sequence[Value]:
        return (self.element,)


# --- models ---------------------------------------------------------------------------------------------


class ModelRole(Enum):
    OTHER = "some model"
    TRAINED = "the one that a Trainer trains, whose bare form is the trainer's own `self.model`"
    EVALUATED = "the same in a step of its evaluation: the bare one, unless one process has several GPUs"
    DATA_PARALLEL = "one that a DataParallel wraps"
    REPLICATED = "one that DDP wraps, which keeps all parameters on every rank"
    GRADIENTS_ONLY = "the same, with no buffers to broadcast in its forward: its ranks meet in the backward pass only"
    STATISTICS = "the same, with layers that average their statistics over the ranks in each forward of the training"
    SHARDED = "one that FSDP 1 wraps, which keeps a part of each gradient on every rank"
    DTENSORS = "one that FSDP 2 has not wrapped: its parameters are DTensors now, which its forward gathers"
    SPREAD = 'one whose layers are spread over all GPUs of a process (`device_map="auto"`)'


@dataclass(slots=True, eq=False, repr=False)
class ModelValue(Value):
    """A model that may be wrapped."""

    kind = Kind.MODEL
    parts: ClassVar[dict[str, object]] = {"role": ModelRole.OTHER}

    role: ModelRole = ModelRole.OTHER


# --- things with a name ---------------------------------------------------------------------------------


class ModuleValue(Value):
    """An imported module, or what a dotted name refers to."""

    __slots__ = ()
    kind = Kind.MODULE


class LibraryName(ModuleValue):
    """A module of a library, or a name in one: `torch.distributed`, `torch.distributed.all_reduce`."""

    __slots__ = ("name",)
    parts: ClassVar[dict[str, object]] = {"name": ""}

    def __init__(self, name: str, rank: Rank = ranks.SAME, **facts: Unpack[Facts]) -> None:
        super().__init__(rank, **facts)
        self.name = name


class ProjectName(ModuleValue):
    """A name (or, without one, a module) of another file of the project, not resolved yet."""

    __slots__ = ("name", "path")
    parts: ClassVar[dict[str, object]] = {"path": None, "name": None}

    def __init__(self, path: Path, name: str | None = None, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.path = path
        self.name = name


class StoreFactory(ModuleValue):
    """The factory of the entries of a library's metric store; each entry is such a container as well."""

    __slots__ = ()


class InstanceValue(Value):
    """An object of some class."""

    __slots__ = ()
    kind = Kind.INSTANCE

    def either(self, other: InstanceValue) -> InstanceValue | None:
        """An object that is this one or another, if they are of one class, whatever their allocation sites."""
        return None


class LibraryInstance(InstanceValue):
    """An instance of a library's class."""

    __slots__ = ("name",)
    parts: ClassVar[dict[str, object]] = {"name": ""}

    def __init__(self, name: str, rank: Rank = ranks.SAME, **facts: Unpack[Facts]) -> None:
        super().__init__(rank, **facts)
        self.name = name


class ShardingAccelerator(LibraryInstance):
    """An Accelerator that wraps models in FSDP, whose wrapper passes their attributes on."""

    __slots__ = ()


class SamplerForOne(LibraryInstance):
    """A DistributedSampler that is told of one process: whoever makes it is given all rows."""

    __slots__ = ()


class PureObject(InstanceValue):
    """A callable object that only computes: a data collator, a tokenizer, a label smoother."""

    __slots__ = ()


class PreparedObject(InstanceValue):
    """The result of `accelerator.prepare` for an object of unknown class."""

    __slots__ = ()

    def either(self, other: InstanceValue) -> InstanceValue | None:
        return self.as_a(PreparedObject) if isinstance(other, PreparedObject) else None


class AveragedModel(Value):
    """An object of a library that keeps an average of a model in a copy whose parameters are never trained."""

    __slots__ = ()


class GradientSwitch(InstanceValue):
    """A context manager that turns gradients on or off."""

    __slots__ = ("on",)
    parts: ClassVar[dict[str, object]] = {"on": True}

    def __init__(self, on: bool, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.on = on


class FirstRankContext(Value):
    """A context manager in which one rank of the "job", or of each "node", runs before the others, or a "lock"."""

    __slots__ = ("scope",)
    parts: ClassVar[dict[str, object]] = {"scope": ""}

    def __init__(self, scope: str) -> None:
        super().__init__(ranks.SAME)
        self.scope = scope


class BoundMethod(Value):
    """A method of an object, or an attribute that is called like one: `loader.dataset.map`."""

    __slots__ = ("name", "receiver")
    kind = Kind.BOUND
    parts: ClassVar[dict[str, object]] = {"receiver": None, "name": ""}

    def __init__(self, receiver: Value, name: str, **facts: Unpack[Facts]) -> None:
        super().__init__(ranks.SAME, **facts)
        self.receiver = receiver
        self.name = name


class PartialCall(Value):
    """A callable with some arguments bound: `functools.partial(callee, *positional, **keywords)`."""

    __slots__ = ("callee", "keywords", "positional")
    kind = Kind.BOUND
    parts: ClassVar[dict[str, object]] = {"callee": None, "positional": (), "keywords": ()}

    def __init__(
        self, callee: Value, positional: Sequence[Value] = (), keywords: Sequence[tuple[str, Value]] = ()
    ) -> None:
        super().__init__(ranks.SAME)
        self.callee = callee
        self.positional = tuple(positional)
        self.keywords = tuple(keywords)


# The class of a value of which only the kind is known. For the other kinds, such a value would say nothing.
BLANKS: dict[Kind, type[Value]] = {
    kind.kind: kind
    for kind in (TensorValue, NumberValue, NumberListValue, StringValue, NoneValue, BatchValue, LoaderValue, ModelValue)
}


# --- functions for values of any kind --------------------------------------------------------------------


NONE = NoneValue(ranks.SAME, const=None)


def flag(const: object = MISSING, rank: Rank = ranks.SAME, provenance: Step | None = None) -> NumberValue:
    """True or False, or (MISSING) one of them."""
    return NumberValue(rank, const=const, scalar=True, dtype="bool", provenance=provenance)


def shape_of(value: Value) -> Shape | None:
    """The shape of a value: a number, and a tensor of one element, have none that could differ.

    Sizes, and a model's output, only carry one: that of the tensor, and that of the logits.
    """
    if value.kind is Kind.NUMBER or (value.shape is None and value.scalar):
        return shapes.SCALAR
    is_carrier = isinstance(value, SizesValue) or role_of(value) is BatchRole.OUTPUT
    return None if is_carrier else value.shape


def role_of(value: Value) -> BatchRole | None:
    return value.role if isinstance(value, BatchValue) else None


def library_name_of(value: Value | None) -> str:
    """The dotted name of a library object or of the class of an instance; "" for everything else."""
    return value.name if isinstance(value, (LibraryInstance, LibraryName)) else ""


def class_name_of(value: Value | None) -> str:
    """The dotted name of the library's class of an instance; "" for everything else."""
    return value.name if isinstance(value, LibraryInstance) else ""


def in_role(value: Value, role: BatchRole) -> BatchValue:
    """A batch in this role, with the facts of a value."""
    return value.as_a(BatchValue).with_parts(role)


def as_instead(value: Value) -> Instead | None:
    """What ranks have with this value, if others have another one: None, or a flag that is the same on all of them."""
    if value.kind is Kind.NONE:
        return Instead.NONE
    return Instead.FLAG if value.dtype == "bool" and value.scalar and value.rank == ranks.SAME else None


def is_none(value: Value | None) -> bool:
    """Whether a value is missing, or is None."""
    return value is None or value.kind is Kind.NONE

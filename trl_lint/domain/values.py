"""Abstract values: what the interpreter knows of one Python value, as small immutable objects.

A value has a kind, and each kind is a class: a `TupleValue` has items, a `ModelValue` a wrapping. It also carries one
fact per domain: how it relates to the other ranks' values (`rank`), the shape of a tensor (`shape`), where it is
(`device`), what it averages (`averaging`), and which ranks lack it (`absence`). With `outputs = model(**inputs)` in a
trainer's `compute_loss`:

    inputs                        BatchValue(SHARD)                          this rank's samples
    model                         ModelValue(SAME, wrapping=WRAPPED)         the same weights everywhere
    outputs.loss                  TensorValue(LOCAL_MEAN, scalar=True)       a rank-local mean
    outputs.loss.item()           NumberValue(LOCAL_MEAN, source=…)          no tensor any more
    accelerator.gather(loss)      TensorValue(REDUCED)                       the same on all ranks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.ranks import Rank, State

if TYPE_CHECKING:
    from libcst import CSTNode
    from typing_extensions import Self, Unpack

    from trl_lint.domain.absence import Absence
    from trl_lint.domain.averaging import AveragingFact
    from trl_lint.domain.control import Control
    from trl_lint.domain.gradient_paths import Gradient
    from trl_lint.domain.provenance import SourceModule, Step
    from trl_lint.domain.shapes import Shape


class Kind(str, Enum):
    """The kinds that rules and transfer functions distinguish. Each subclass of `Value` has one."""

    __hash__ = str.__hash__  # an enum's own is slow, and kinds are looked up all the time

    UNKNOWN = "unknown"
    TENSOR = "tensor"
    NUMBER = "number"  # a Python int, float or bool
    STRING = "string"
    NONE = "none"
    TUPLE = "tuple"
    CONTAINER = "container"  # one of several mutable containers on the abstract heap
    MODEL = "model"
    MODULE = "module"  # an imported module, or a dotted name of a library
    FUNCTION = "function"
    BOUND = "bound method"
    CLASS = "class"
    INSTANCE = "instance"
    BATCH = "batch"  # what a data loader yields, or a model's output: any key or attribute of it is a piece of it
    LOADER = "loader"  # iterating yields a batch per step
    NUMBER_LIST = "number list"
    ITERABLE = "iterable"  # its elements and its length are known


class Wrapping(str, Enum):
    """Whether a model is inside DDP, DataParallel or an engine."""

    WRAPPED = "wrapped"
    BARE = "bare"
    MAYBE = "maybe"  # wrapped on one branch, bare on another; `provenance` says under which condition
    UNWRAPPED = "unwrapped"  # bare, and known to be (a part of) what a wrapper holds
    UNKNOWN = "unknown"

    @property
    def is_bare(self) -> bool:
        return self in (Wrapping.BARE, Wrapping.UNWRAPPED)


# Wrapped on at least one branch: what fails on a wrapper fails there.
WRAPPED_ON_SOME_WAY = frozenset({Wrapping.MAYBE, Wrapping.WRAPPED})


# --- how values reach what is logged -------------------------------------------------------------------


@dataclass(slots=True, eq=False, repr=False)
class Payload:
    """The expression whose value a statement passes on, and what a fix has to know about the place.

    Attributes:
        value: The facts of the expression.
        node_values: The facts of its parts, by the id of their node.
        control: Whether all ranks reach it together.
        function: The enclosing one.
        accelerator: The text by which the Accelerator is accessible there, or "".
        reducers: The project's reduction helpers that can be called there, as (text, dotted name, reduction).
        passed_to: If it is the argument of a call, the callee and the parameter's name in it.
    """

    expression: CSTNode
    value: Value
    node_values: dict[int, Value]
    control: Control
    function: Any
    accelerator: str
    reducers: tuple[tuple[str, str, str], ...] = ()
    passed_to: tuple[Any, str] | None = None


@dataclass(slots=True, eq=False, repr=False)
class Write:
    """A statement that put a local value into a metrics container. Equal for the same statement.

    payload is None if the value is not a single expression in the statement.
    """

    module: SourceModule
    node: CSTNode
    name: str
    rank: Rank
    provenance: Step | None
    payload: Payload | None = None

    def named(self, name: str) -> Write:
        """The same, by the name that it is shown under."""
        return replace(self, name=name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Write) and self.node is other.node and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.node), self.name))


NO_WRITES: frozenset[Write] = frozenset()


# --- values ---------------------------------------------------------------------------------------------


class Facts(TypedDict, total=False):
    """The facts of a value of any kind; see `Value`."""

    const: Any
    wrapping: Wrapping | None
    scalar: bool
    dtype: str
    provenance: Step | None
    writes: frozenset[Write]
    pending: frozenset[Write]
    device: str
    grad: bool
    shape: Shape | None
    averaging: AveragingFact | None
    absence: Absence | None
    gradient: Gradient | None


class Changes(Facts, total=False):
    """The facts that `replace` can change."""

    rank: Rank


@dataclass(slots=True, eq=False, repr=False)
class Value:
    """An abstract value. Immutable; `replace(...)` creates a variant.

    Attributes:
        rank: How it relates to the same value on other ranks.
        const: Its constant value, or MISSING.
        wrapping: For models; for a batch, WRAPPED says that it comes from a loader that Accelerate has prepared.
        scalar: True for a tensor known to have exactly one element.
        dtype: "int", "float", "bool", or "" if unknown.
        device: Where a tensor or an array is (see `Device`), or which device a value names; "" for the accelerator's
            device or unknown. For models, "eval" after `.eval()`.
        grad: False for a value that certainly has no gradient, a context manager that disables gradients, or a model of
            which no wrapper synchronises gradients (frozen, evaluated only, or in a DataParallel).
        shape: For tensors, which of their dimensions differ between ranks; None if that is not known.
        provenance: The chain that explains why it differs between ranks.
        writes: The statements that put it into a metrics container.
        pending: The call statements that passed it on unchanged, as an argument.
        averaging: What this rank's data decide about it (see `averaging.py`), or None.
        absence: Which ranks lack it (see `absence.py`), or None if none is known to.
        gradient: Whether it is computed from what is trained (see `gradient_paths.py`), or None if that is not known.
    """

    kind: ClassVar[Kind] = Kind.UNKNOWN
    # The slots of this class in addition to the facts, and their contents if nothing is known.
    parts: ClassVar[dict[str, object]] = {}

    rank: Rank = ranks.UNKNOWN
    _: KW_ONLY
    const: Any = MISSING
    wrapping: Wrapping | None = None
    scalar: bool = False
    dtype: str = ""
    provenance: Step | None = None
    writes: frozenset[Write] = NO_WRITES
    pending: frozenset[Write] = NO_WRITES
    device: str = ""
    grad: bool = True
    shape: Shape | None = None
    averaging: AveragingFact | None = None
    absence: Absence | None = None
    gradient: Gradient | None = None

    def replace(self, **changes: Unpack[Changes]) -> Self:
        """This value with some facts changed."""
        new = self._copied(type(self))
        for part in self.parts:
            setattr(new, part, getattr(self, part))
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def with_all_facts(
        self,
        rank: Rank,
        const: Any,
        *,
        wrapping: Wrapping | None,
        scalar: bool,
        dtype: str,
        provenance: Step | None,
        writes: frozenset[Write],
        pending: frozenset[Write],
        device: str,
        grad: bool,
        shape: Shape | None,
        averaging: AveragingFact | None,
    ) -> Self:
        """This value with these facts, its own `absence` and `gradient`; the value itself if no fact changes."""
        if (
            (self.rank is rank or self.rank == rank)
            and self.const is const
            and self.wrapping is wrapping
            and self.scalar is scalar
            and self.dtype == dtype
            and self.provenance is provenance
            and self.writes is writes
            and self.pending is pending
            and self.device == device
            and self.grad is grad
            and self.shape is shape
            and self.averaging is averaging
        ):
            return self
        new = object.__new__(type(self))
        for part in self.parts:
            setattr(new, part, getattr(self, part))
        new.absence, new.averaging, new.const, new.device, new.dtype = self.absence, averaging, const, device, dtype
        new.grad, new.pending, new.rank, new.scalar = grad, pending, rank, scalar
        new.shape, new.provenance, new.wrapping, new.writes = shape, provenance, wrapping, writes
        new.gradient = self.gradient
        return new

    def as_present(self) -> Self:
        """This value where no rank is known to lack it."""
        return self if self.absence is None else self.replace(absence=None)

    def with_parts(self, *parts: object) -> Self:
        """A value of the same kind with other parts, and the facts of this value."""
        new = self._copied(type(self))
        for name, part in zip(self.parts, parts, strict=True):
            setattr(new, name, part)
        return new

    def as_a(self, kind: type[AnyValue], **changes: Unpack[Changes]) -> AnyValue:
        """A value of another kind of which no parts are known, with the facts of this value."""
        new = self._copied(kind)
        for part, nothing in kind.parts.items():
            setattr(new, part, nothing)
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def with_facts_of(self, other: Value) -> Self:
        """The same thing, with the facts of another value."""
        new = other._copied(type(self))
        for part in self.parts:
            setattr(new, part, getattr(self, part))
        return new

    def _copied(self, cls: type[AnyValue]) -> AnyValue:
        # Written out, as this is called very often: a loop over the slots takes several times as long.
        new = object.__new__(cls)
        new.absence, new.averaging, new.const = self.absence, self.averaging, self.const
        new.device, new.dtype = self.device, self.dtype
        new.grad, new.pending, new.rank, new.scalar = self.grad, self.pending, self.rank, self.scalar
        new.shape, new.provenance, new.wrapping, new.writes = self.shape, self.provenance, self.wrapping, self.writes
        new.gradient = self.gradient
        return new

    def same_parts(self, other: Value) -> bool:
        """Whether both have equal parts and the same class (facts are not compared)."""
        if type(self) is not type(other):
            return False
        return all(getattr(self, part) == getattr(other, part) for part in self.parts)

    def has_parts_of(self, other: Value) -> bool:
        """Whether both have identical parts. Their classes are the same."""
        return all(getattr(self, part) is getattr(other, part) for part in self.parts)

    @property
    def is_unknown(self) -> bool:
        """Whether neither what it is nor whether it differs between ranks is known."""
        return self.kind is Kind.UNKNOWN and self.rank.state is State.UNKNOWN

    @property
    def items(self) -> tuple[Value, ...]:
        """The items of a tuple; of anything else, none are known."""
        return ()

    @property
    def identities(self) -> frozenset[int]:
        """The containers on the heap that it may be; none if it is no container."""
        return frozenset()

    def inside(self) -> Sequence[Value]:
        """The values that can be reached through this one without the heap."""
        return ()

    def __repr__(self) -> str:
        parts = "".join(f" {getattr(self, part)!r}" for part in self.parts if getattr(self, part) is not None)
        return f"<{self.kind.value} {self.rank}{parts}>"


AnyValue = TypeVar("AnyValue", bound=Value)


UNKNOWN = Value()
BOTTOM = Value(ranks.BOTTOM)
SAME = Value(ranks.SAME)

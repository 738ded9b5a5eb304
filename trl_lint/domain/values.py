"""Abstract values: what the interpreter knows of one Python value, as small immutable objects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from trl_lint.domain import ranks, shapes
from trl_lint.domain.averaging import AveragingFact
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Rank

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.domain.shapes import Shape


class Kind(str, Enum):
    """What a value is, as far as rules and transfers ask."""

    __hash__ = str.__hash__  # an enum's own is slow, and kinds are looked up all the time

    UNKNOWN = "unknown"
    TENSOR = "tensor"
    NUMBER = "number"  # a Python int, float or bool
    STRING = "string"
    NONE = "none"
    TUPLE = "tuple"
    CELLS = "cells"  # one of some mutable containers on the abstract heap
    MODEL = "model"
    MODULE = "module"  # an imported module, or a dotted name of a library
    FUNCTION = "function"
    BOUND = "bound method"
    CLASS = "class"
    INSTANCE = "instance"
    BATCH = "batch"  # what a data loader yields, or a model's output: any key or attribute is a piece of it
    LOADER = "loader"  # iterating gives a batch per step
    NUMBERS = "numbers"  # a list of Python numbers
    RANGE = "range"  # an iterable whose elements and length are known: data is (element, length rank)


class Wrapping(str, Enum):
    """Whether a model is inside DDP, DataParallel or an engine."""

    WRAPPED = "wrapped"
    BARE = "bare"
    INSIDE = "inside"  # bare as well, and known to be (a part of) what a wrapper holds
    UNKNOWN = "unknown"

    @property
    def is_bare(self) -> bool:
        return self in (Wrapping.BARE, Wrapping.INSIDE)


class World:
    """A constant that follows from the assumption that there is more than one rank."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


WORLD_SIZE = World("world size")  # some number > 1
WORLD_KIND = World("a kind of distributed run")  # a DistributedType other than NO
WORLD_TRUE = World("true for several ranks")
WORLD_FALSE = World("false for several ranks")


class Alone:
    """What a number that differs by the rank, or a question for it, is where there is one process only."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{self.value} on one process"


ALONE_FIRST, ALONE_TRUE, ALONE_FALSE = Alone(0), Alone(True), Alone(False)


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


# Data of a BATCH that is one named field of a batch, as the collator made it.
FIELD = "<field>"

# Data of a MODEL that is the one a Trainer trains, whose bare form is the trainer's own `self.model`.
TRAINED = "<trained>"

# Data of a MODEL that a DataParallel wraps.
DATA_PARALLEL = "<data parallel>"

# No constant is known (None is a constant).
MISSING: Any = _Missing()


class Payload:
    """The expression whose value a statement hands on, and what a fix has to know about the place.

    value: the facts of the expression. seen: those of its parts, by the id of their node. control: whether all
    ranks get there together. owner: the enclosing function. accelerator: the text by which the Accelerator is
    reached there, or "". reducers: the user's own that can be called there, as (text, dotted name, reduction).
    handed: if it is the argument of a call, the function it is handed to and the name it has there.
    """

    __slots__ = ("accelerator", "control", "expression", "handed", "owner", "reducers", "seen", "value")

    def __init__(
        self,
        expression: CSTNode,
        value: Value,
        seen: dict[int, Value],
        control: Any,
        owner: Any,
        accelerator: str,
        reducers: tuple[tuple[str, str, str], ...] = (),
        handed: tuple[Any, str] | None = None,
    ) -> None:
        self.handed = handed
        self.expression = expression
        self.value = value
        self.seen = seen
        self.control = control
        self.owner = owner
        self.accelerator = accelerator
        self.reducers = reducers


class Write:
    """A statement that put a local value into a metrics container. Equal for the same statement.

    payload is None where the value does not stand in the statement as one expression.
    """

    __slots__ = ("module", "node", "payload", "rank", "what", "why")

    def __init__(
        self, module: Any, node: CSTNode, what: str, rank: Rank, why: Step | None, payload: Payload | None = None
    ) -> None:
        self.module = module
        self.node = node
        self.what = what
        self.rank = rank
        self.why = why
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Write) and self.node is other.node and self.what == other.what

    def __hash__(self) -> int:
        return hash((id(self.node), self.what))


NO_WRITES: frozenset[Write] = frozenset()


class Value:
    """An abstract value. Never changed once built; `but(...)` makes a variant.

    rank: how it relates to the same value on other ranks.
    kind, data: what it is; `data` depends on the kind (a dotted name, the items of a tuple, heap cells, for a
    number the value it was made of or, if it tells the rank, an `Alone`, …).
    const: its constant value, or MISSING.
    wrapping: for models; of a batch, WRAPPED says that it comes from a loader that Accelerate has prepared.
    scalar: True for a tensor known to have exactly one element.
    dtype: "int", "float", "bool" or "" when unknown.
    place: where a tensor or an array is (see `Place`), or which device a value names; "" for the accelerator's device
    or unknown. For models, "eval" after `.eval()`.
    grad: False for what certainly has no gradient; of a model, where no wrapper has gradients of it to synchronise
    (it is frozen, evaluated only, or in a DataParallel); of a context manager, where it keeps them from being made.
    shape: for tensors, which of their dimensions differ between ranks; None when that is not known.
    why: the chain that made it differ between ranks.
    writes: the statements by which it came into a metrics container.
    pending: the call statements through which it was handed on unchanged, as a parameter.
    own: what this rank's data decide on besides (see `means.py`), or None.
    """

    __slots__ = (
        "const",
        "data",
        "dtype",
        "grad",
        "kind",
        "own",
        "pending",
        "place",
        "rank",
        "scalar",
        "shape",
        "why",
        "wrapping",
        "writes",
    )

    def __init__(
        self,
        rank: Rank = ranks.UNKNOWN,
        kind: Kind = Kind.UNKNOWN,
        data: Any = None,
        const: Any = MISSING,
        wrapping: Wrapping | None = None,
        scalar: bool = False,
        dtype: str = "",
        why: Step | None = None,
        writes: frozenset[Write] = NO_WRITES,
        pending: frozenset[Write] = NO_WRITES,
        place: str = "",
        grad: bool = True,
        shape: Shape | None = None,
        own: AveragingFact | None = None,
    ) -> None:
        self.rank = rank
        self.kind = kind
        self.data = data
        self.const = const
        self.wrapping = wrapping
        self.scalar = scalar
        self.dtype = dtype
        self.why = why
        self.writes = writes
        self.pending = pending
        self.place = place
        self.grad = grad
        self.shape = shape
        self.own = own

    def but(self, **changes: Any) -> Value:
        """This value with some fields changed."""
        # Written out, as this is done all the time: a loop over the slots takes several times as long.
        new = object.__new__(Value)
        new.const, new.data, new.dtype, new.grad = self.const, self.data, self.dtype, self.grad
        new.kind, new.pending, new.place, new.rank = self.kind, self.pending, self.place, self.rank
        new.scalar, new.why, new.wrapping, new.writes = self.scalar, self.why, self.wrapping, self.writes
        new.shape = self.shape
        new.own = self.own
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def __repr__(self) -> str:
        return f"<{self.kind.value} {self.rank}{'' if self.data is None else f' {self.data!r}'}>"


# How many items a tuple may have, those of the tuples in it included: each use of a value goes through all of them,
# and `m = (m, m)` has twice as many.
MAX_ITEMS = 1024
_NESTED = frozenset({Kind.TUPLE, Kind.RANGE})


def is_small(items: Sequence[Value]) -> bool:
    """Whether so many items, with all that is in them, may make a tuple."""
    left = MAX_ITEMS - len(items)
    todo = [item for item in items if item.kind in _NESTED]
    while todo and left >= 0:
        inside = todo.pop().data if todo[-1].kind is Kind.TUPLE else (todo.pop().data[0],)
        left -= len(inside)
        todo.extend(item for item in inside if item.kind in _NESTED)
    return left >= 0


UNKNOWN = Value()
BOTTOM = Value(ranks.BOTTOM)
SAME = Value(ranks.SAME)
NONE = Value(ranks.SAME, Kind.NONE, const=None)


def shape_of(value: Value) -> Shape | None:
    """The shape of a value: a number, and a tensor of one element, have none that could differ."""

    if value.kind is Kind.NUMBER or (value.shape is None and value.scalar):
        return shapes.SCALAR
    return None if value.data in _NO_TENSORS else value.shape


# Marks of values that are no tensors and carry the shape of one: its sizes, and a model's output that of its logits.
_NO_TENSORS = ("<shape>", "<output>")


# Marks of values that no table names.
PREPARED = "<prepared>"  # what `accelerator.prepare` made of something whose class is not in sight


OUTPUT = "<output>"  # a model's output

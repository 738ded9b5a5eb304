"""What operators, methods and functions make of tensors, arrays and the data a loader yields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trl_lint.analysis.state.frame import derived
from trl_lint.analysis.transfer import tensor_devices
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, World
from trl_lint.domain.kinds import (
    BatchRole,
    LibraryName,
    NumberValue,
    SizesValue,
    TensorValue,
    TupleValue,
    read_out_of,
    role_of,
)
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.schema import GRADIENT_NORM

_NUMBERLIKE = frozenset({Kind.NUMBER, Kind.NONE})
# Reductions that leave one element what it is.
_OF_ONE = frozenset({"all", "any", "max", "mean", "median", "min", "nanmean", "prod", "quantile", "sum"})
# Marks the sizes of a tensor's dimensions: of these the first is how many samples there are.
# Reductions that keep a value's dtype.
_SAME_DTYPE = frozenset({"amax", "amin", "max", "min", "sum", "nansum", "prod", "median"})


def arithmetic(rank: Rank, left: Value, right: Value, divides: bool) -> Value:
    """The value of an element-wise operation with this fact."""
    kinds = {left.kind, right.kind}
    if Kind.TENSOR in kinds:
        kind = Kind.TENSOR
    elif kinds <= _NUMBERLIKE:
        kind = Kind.NUMBER
    elif Kind.BATCH in kinds:
        kind = Kind.TENSOR
    elif kinds & {Kind.NUMBER, Kind.NUMBER_LIST}:
        kind = Kind.BATCH
    else:
        kind = Kind.UNKNOWN
    dtype = _dtype(left, right, divides)
    scalar = left.scalar and right.scalar
    return derived(rank, kind, left, right, scalar=scalar, dtype=dtype)


def _dtype(left: Value, right: Value, divides: bool) -> str:
    if divides or "float" in (left.dtype, right.dtype):
        return "float"
    if left.dtype and right.dtype:
        return "int" if "int" in (left.dtype, right.dtype) or left.dtype == right.dtype == "bool" else left.dtype
    return ""


def indexed(container: Value, index: Value) -> Value:
    """`x[index]` of a tensor or a batch."""
    if isinstance(container, SizesValue):
        return dimension(container, index)
    rank = ranks.combine(container.rank, ranks.nonlinear(index.rank))
    if container.rank.state is State.PARTIAL and index.rank.state is State.SAME:
        rank = container.rank
    if index.rank.state is State.UNKNOWN and container.rank.state is State.SAME:
        rank = ranks.UNKNOWN
    kind: Kind = container.kind if container.kind in (Kind.TENSOR, Kind.BATCH) else Kind.UNKNOWN
    if container.kind is Kind.STRING:
        kind = Kind.STRING
    return derived(rank, kind, container, index, dtype=container.dtype)


def attribute(value: Value, name: str) -> Value | None:
    """A tensor's attribute; None when it is a method to be called."""
    if name in table.META:
        return Value(ranks.SAME, device=value.device if name == "device" else "")
    if name == "shape":
        return _shape(value)
    if name in table.COUNTS:
        return derived(_count(value), Kind.TENSOR, value, dtype="int").as_a(Value)
    if name in table.PASSTHROUGH:
        return value.but(grad=False) if name == "data" else value
    return None


def _count(value: Value) -> Rank:
    """How many elements: as many everywhere in a tensor of one."""
    if value.scalar:
        return ranks.SAME
    return Rank(State.PARTIAL, value.rank.origins, "count") if value.rank.differs else value.rank


def _shape(value: Value) -> Value:
    """The sizes of all dimensions: the data decide on them."""
    rank = ranks.SAME if value.scalar else collapsed(value.rank)
    return derived(rank, Kind.UNKNOWN, value, dtype="int").as_a(SizesValue)


def dimension(shape: Value, index: Value) -> Value:
    """One size, or (for a slice) several: the ranks' numbers of samples add up, their other sizes do not."""
    rank = ranks.combine(shape.rank, index.rank)
    if index.kind is Kind.TUPLE:
        return derived(rank, Kind.UNKNOWN, shape, index, dtype="int").as_a(SizesValue)
    if index.const == 0 and type(index.const) is int and rank.differs:
        rank = Rank(State.PARTIAL, rank.origins, "count")
    return derived(rank, Kind.NUMBER, shape, index, scalar=True, dtype="int")


def collapsed(rank: Rank) -> Rank:
    """The fact of what is no longer spread over the samples, nor a step of a reduction."""
    return Rank(State.LOCAL, rank.origins) if rank.differs else rank


def method(receiver: Value, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """The result of `receiver.name(...)`: tensor methods are pure unless the tables say otherwise."""
    if name in table.META:
        return Value(ranks.SAME)
    if name in ("size", "stride"):
        shape = _shape(receiver)
        over = keywords.get("dim", args[0] if args else None)
        sized = shape if over is None or over.kind is Kind.NONE else dimension(shape, over)
        return sized if name == "size" else sized.but(rank=collapsed(sized.rank))
    if name in table.COUNTS:
        return derived(_count(receiver), Kind.NUMBER, receiver, scalar=True, dtype="int")
    if name in table.HOST:
        return _to_host(receiver, name)
    if name in table.REDUCTIONS:
        return reduced(receiver, name, args, keywords)
    if name in table.PASSTHROUGH:
        return _passed(receiver, name, args, keywords)
    if name == "new_tensor":
        return _made(args).but(device=receiver.device)
    if name in table.FILLED_LIKE:
        return _filled_with(keywords.get("fill_value", args[1] if len(args) > 1 and name == "new_full" else None))
    values = (receiver, *args, *keywords.values())
    if name in table.RANDOM_LIKE:
        return _drawn(name, values)
    rank = ranks.nonlinear(ranks.combine_all(value.rank for value in values))
    if name in table.DECISIONS or (name in table.INDICES and not _dimensions(args, keywords)):
        return _decision(rank, name, values)
    kind = receiver.kind if receiver.kind in (Kind.STRING, Kind.TENSOR) else Kind.BATCH
    dtype = table.DTYPES.get(name, receiver.dtype)
    return derived(rank, kind, *values, dtype=dtype, scalar=receiver.scalar and not args)


def _dimensions(args: Sequence[Value], keywords: dict[str, Value]) -> Value | None:
    """The argument that says over which dimensions a reduction goes; None when it goes over all."""
    over = keywords.get("dim", keywords.get("axis", args[0] if args else None))
    return None if over is None or over.kind is Kind.NONE else over


def _decision(rank: Rank, name: str, values: Sequence[Value]) -> Value:
    """One answer about all elements (`equal`, `argmax`): no collective makes the whole's of the pieces'."""
    kind = Kind.NUMBER if name in table.DECISIONS else Kind.TENSOR
    return derived(collapsed(rank), kind, *values, scalar=True, dtype=table.DTYPES.get(name, "bool"))


def _drawn(name: str, values: Sequence[Value]) -> Value:
    """Random numbers: of the given distribution, or only shaped like the argument."""
    given = () if name.endswith("_like") else values
    rank = ranks.combine_all([ranks.RNG_LOCAL, *(ranks.nonlinear(value.rank) for value in given)])
    return derived(rank, Kind.TENSOR, *given)


def _filled_with(filling: Value | None) -> Value:
    """A tensor shaped like another, filled with one value (a constant when none is given)."""
    return TensorValue(ranks.SAME) if filling is None else derived(filling.rank, Kind.TENSOR, filling)


def _to_host(receiver: Value, name: str) -> Value:
    kind = Kind.NUMBER_LIST if name == "tolist" and not receiver.scalar else Kind.NUMBER
    is_one = kind is Kind.NUMBER
    made = derived(receiver.rank, kind, receiver, scalar=is_one, dtype=receiver.dtype, pending=receiver.pending)
    return read_out_of(receiver, made)


def _passed(receiver: Value, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    dtype = table.DTYPES.get(name, receiver.dtype)
    for arg in args:
        if isinstance(arg, LibraryName) and arg.name.startswith("torch."):
            dtype = table.DTYPE_NAMES.get(arg.name[6:], dtype)
    kind = Kind.BATCH if role_of(receiver) in (BatchRole.METRICS, BatchRole.OUTPUT) else Kind.TENSOR
    is_field = role_of(receiver) is BatchRole.FIELD
    if receiver.kind in (Kind.BATCH, Kind.STRING) and not is_field and name in ("to", "copy", "split"):
        kind = receiver.kind
    scalar = receiver.scalar and name not in ("expand", "repeat", "repeat_interleave")
    rank = receiver.rank if name != "bool" or receiver.dtype == "bool" else ranks.nonlinear(receiver.rank)
    grad = receiver.grad and name not in ("detach", "data", "numpy")
    place = tensor_devices.moved(receiver, name, args, keywords)
    made = derived(rank, kind, receiver, scalar=scalar, dtype=dtype, pending=receiver.pending, device=place, grad=grad)
    return receiver.with_facts_of(made) if made.kind is receiver.kind and not is_field else made


def reduced(value: Value, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """The result of a reduction, over everything or over given dimensions."""
    how = table.REDUCTIONS[name]
    dtype = _reduced_dtype(value, name)
    if how in table.ORDERED:
        args = args[1:]
    over = _dimensions(args, keywords)
    if over is None:
        return derived(_partial(value, how), Kind.TENSOR, value, dtype=dtype, scalar=True)
    if name in ("max", "min") and over.kind in (Kind.TENSOR, Kind.BATCH):
        rank = ranks.nonlinear(ranks.combine(value.rank, over.rank))
        return derived(rank, Kind.TENSOR, value, over, dtype=dtype)
    return derived(_over_dimensions(value, over, how), Kind.TENSOR, value, dtype=dtype)


def _over_dimensions(value: Value, over: Value, how: str) -> Rank:
    """The batch is dimension 0: over the others, one value per sample stays one."""
    dimensions = over.items if isinstance(over, TupleValue) else (over,)
    if any(type(dimension.const) is int and dimension.const == 0 for dimension in dimensions):
        return _partial(value, how)
    if all(type(dimension.const) is int for dimension in dimensions):
        return ranks.nonlinear(value.rank)
    return collapsed(value.rank)


def _reduced_dtype(value: Value, name: str) -> str:
    if name in ("any", "all"):
        return "bool"
    if name in table.DTYPES:
        return table.DTYPES[name]
    if name in _SAME_DTYPE:
        return "int" if value.dtype == "bool" and name in ("sum", "nansum", "prod") else value.dtype
    return "float"


def _partial(value: Value, how: str) -> Rank:
    rank = value.rank
    if value.scalar and how in _OF_ONE:
        return rank
    if rank.state is State.SHARD:
        return Rank(State.PARTIAL, rank.origins, how)
    if rank.state is State.PARTIAL:
        return rank if rank.how == how else Rank(State.LOCAL, rank.origins)
    if rank.state is State.LOCAL:
        return Rank(State.LOCAL, rank.origins, how if rank.how in ("", how) else "")
    return rank


def function(dotted: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value | None:
    """The result of a function under one of the pure roots; None when the tables do not know it."""
    name = dotted.rpartition(".")[2]
    if name in table.RANDOM_LIKE and dotted.startswith("torch."):
        return _drawn(name, [*args, *keywords.values()])
    origin = library.origin(dotted)
    if origin is not None:
        return _of_origin(dotted, name, origin)
    if dotted in table.SAME_FUNCTIONS:
        return Value(ranks.SAME)
    if dotted in table.GRADIENT_NORMS:
        return GRADIENT_NORM
    place = "host" if dotted.startswith("numpy.") else "" if "device" in keywords else "cpu"
    if dotted in table.TENSOR_MAKERS:
        return _made(args).but(device=place)
    if dotted in table.FILLED:
        return _filled(name, args, keywords).but(device=place)
    if not library.is_pure(dotted):
        return None
    value = _pure(name, args, keywords)
    if dotted.startswith(("math.", "statistics.")):
        return value.as_a(NumberValue, scalar=True)
    return value.but(device=place) if place == "host" and value.rank.differs else value


def _pure(name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    if name in table.FILLED_LIKE:
        return _filled_with(keywords.get("fill_value", args[1] if len(args) > 1 and name == "full_like" else None))
    if args and args[0].kind is not Kind.MODULE:
        if name in table.REDUCTIONS:
            return reduced(args[0], name, args[1:], keywords)
        if name in table.PASSTHROUGH and len(args) > 0 and name not in ("split",):
            return _passed(args[0], name, args[1:], keywords)
    values = [*args, *keywords.values()]
    rank = ranks.combine_all(value.rank for value in values)
    if name in table.JOINING:
        return derived(rank, Kind.TENSOR, *values, dtype=_common_dtype(values))
    if name in table.DECISIONS or (name in table.INDICES and not _dimensions(args[1:], keywords)):
        return _decision(rank, name, values)
    scalar = bool(values) and all(value.scalar for value in values)
    return derived(
        ranks.nonlinear(rank),
        Kind.TENSOR,
        *values,
        dtype=table.DTYPES.get(name, _common_dtype(values)),
        scalar=scalar,
    )


def _common_dtype(values: Sequence[Value]) -> str:
    known = {value.dtype for value in values if value.kind in (Kind.TENSOR, Kind.BATCH)}
    return known.pop() if len(known) == 1 else ""


def _made(args: Sequence[Value]) -> Value:
    """`torch.tensor(x)`: the same facts, now a tensor."""
    if not args:
        return TensorValue(ranks.SAME)
    source = args[0]
    return derived(
        source.rank,
        Kind.TENSOR,
        source,
        scalar=source.kind is Kind.NUMBER,
        dtype=source.dtype,
        pending=source.pending,
    )


def _filled(name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """A tensor filled with one value: of a local length it is still the same number everywhere."""
    if name == "full" and len(args) > 1:
        return derived(args[1].rank, Kind.TENSOR, args[1])
    rank = ranks.ZERO if name == "zeros" else ranks.SAME
    dtype = "float" if name in table.FLOATS_UNLESS_TOLD and "dtype" not in keywords else ""
    sizes = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    ones = all(type(size.const) is int and size.const == 1 for size in sizes)
    return TensorValue(rank, dtype=dtype, scalar=name in ("zeros", "ones", "empty") and ones)


def _of_origin(dotted: str, name: str, rank: Rank) -> Value:
    if rank.state is State.UNKNOWN or rank.state is State.SAME:
        return Value(rank)
    is_tensor = dotted.startswith("torch.") and rank == ranks.RNG_LOCAL
    return TensorValue(rank) if is_tensor else NumberValue(rank, scalar=True)


def builtin(name: str, args: Sequence[Value]) -> Value:
    """A pure builtin that needs no look at containers."""
    rank = ranks.combine_all(value.rank for value in args)
    if name in table.HOST_BUILTINS:
        source = args[0] if args else Value(ranks.SAME)
        const = _converted(name, source.const)
        kept = rank if name != "bool" else ranks.nonlinear(rank)
        made = derived(
            kept,
            Kind.NUMBER,
            source,
            scalar=True,
            dtype=table.HOST_BUILTINS[name],
            device=source.device,
            const=const,
            pending=source.pending,
        )
        return read_out_of(source, made)
    if name == "round":
        source = args[0] if args else NumberValue(ranks.SAME)
        kept = source.rank if all(value.rank.state is State.SAME for value in args[1:]) else rank
        return derived(kept, source.kind, source, scalar=True, dtype=source.dtype)
    return derived(ranks.nonlinear(rank), Kind.UNKNOWN, *args)


def _converted(name: str, const: Any) -> Any:
    return const if isinstance(const, World) else MISSING

"""What operators, methods and functions make of tensors, arrays and the data a loader yields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trl_lint.analysis import facts
from trl_lint.analysis.facts import Rank, State
from trl_lint.analysis.frame import derived
from trl_lint.analysis.values import MISSING, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge import torch as table

_NUMBERLIKE = frozenset({Kind.NUMBER, Kind.NONE})
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
    rank = facts.combine(container.rank, facts.nonlinear(index.rank))
    if container.rank.state is State.PARTIAL and index.rank.state is State.SAME:
        rank = container.rank
    if index.rank.state is State.UNKNOWN and container.rank.state is State.SAME:
        rank = facts.UNKNOWN
    kind = container.kind if container.kind in (Kind.TENSOR, Kind.BATCH) else Kind.UNKNOWN
    if container.kind is Kind.STRING:
        kind = Kind.STRING
    return derived(rank, kind, container, index, dtype=container.dtype)


def attribute(value: Value, name: str) -> Value | None:
    """A tensor's attribute; None when it is a method to be called."""
    if name in table.META:
        return Value(facts.SAME)
    if name in table.COUNTS:
        return derived(_count(value.rank), Kind.TENSOR, value, dtype="int").but(kind=Kind.UNKNOWN)
    if name in table.PASSTHROUGH:
        return value.but(scalar=value.scalar)
    return None


def _count(rank: Rank) -> Rank:
    return Rank(State.PARTIAL, rank.origins, "count") if rank.differs else rank


def method(receiver: Value, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """The result of `receiver.name(...)`: tensor methods are pure unless the tables say otherwise."""
    if name in table.META:
        return Value(facts.SAME)
    if name in table.COUNTS:
        return derived(_count(receiver.rank), Kind.NUMBER, receiver, scalar=True, dtype="int")
    if name in table.HOST:
        return _to_host(receiver, name)
    if name in table.REDUCTIONS:
        return reduced(receiver, name, args, keywords)
    if name in table.PASSTHROUGH:
        return _passed(receiver, name, args)
    if name in table.FILLED_LIKE:
        return derived(facts.SAME, Kind.TENSOR, receiver)
    rank = facts.nonlinear(facts.combine_all([receiver.rank, *(v.rank for v in args), *(v.rank for v in keywords.values())]))
    kind = Kind.STRING if receiver.kind is Kind.STRING else Kind.TENSOR if receiver.kind is Kind.TENSOR else Kind.BATCH
    dtype = table.DTYPES.get(name, receiver.dtype)
    return derived(rank, kind, receiver, *args, *keywords.values(), dtype=dtype, scalar=receiver.scalar and not args)


def _to_host(receiver: Value, name: str) -> Value:
    kind = Kind.NUMBERS if name == "tolist" and not receiver.scalar else Kind.NUMBER
    return derived(
        receiver.rank,
        kind,
        receiver,
        data=receiver,
        scalar=kind is Kind.NUMBER,
        dtype=receiver.dtype,
        pending=receiver.pending,
    )


def _passed(receiver: Value, name: str, args: Sequence[Value]) -> Value:
    dtype = table.DTYPES.get(name, receiver.dtype)
    for arg in args:
        if isinstance(arg.data, str) and arg.kind is Kind.MODULE and arg.data.startswith("torch."):
            dtype = table.DTYPE_NAMES.get(arg.data[6:], dtype)
    kind = Kind.TENSOR if receiver.kind is not Kind.BATCH or receiver.data is None else receiver.kind
    if receiver.kind in (Kind.BATCH, Kind.STRING) and name in ("to", "copy", "split"):
        kind = receiver.kind
    scalar = receiver.scalar and name not in ("expand", "repeat", "repeat_interleave")
    return derived(
        receiver.rank, kind, receiver, scalar=scalar, dtype=dtype, pending=receiver.pending, data=receiver.data
    )


def reduced(value: Value, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """The result of a reduction, over everything or over given dimensions."""
    how = table.REDUCTIONS[name]
    dtype = _reduced_dtype(value, name)
    over = keywords.get("dim", keywords.get("axis", args[0] if args else None))
    if over is not None and over.kind is not Kind.NONE:
        if name in ("max", "min") and (over.kind in (Kind.TENSOR, Kind.BATCH)):
            rank = facts.nonlinear(facts.combine(value.rank, over.rank))
            return derived(rank, Kind.TENSOR, value, over, dtype=dtype)
        if over.const != 0:
            # One value per sample stays one; the batch is dimension 0.
            return derived(facts.nonlinear(value.rank), Kind.TENSOR, value, dtype=dtype)
        return derived(_partial(value.rank, how), Kind.TENSOR, value, dtype=dtype)
    return derived(_partial(value.rank, how), Kind.TENSOR, value, dtype=dtype, scalar=True)


def _reduced_dtype(value: Value, name: str) -> str:
    if name in ("any", "all"):
        return "bool"
    if name in table.DTYPES:
        return table.DTYPES[name]
    if name in _SAME_DTYPE:
        return "int" if value.dtype == "bool" and name in ("sum", "nansum", "prod") else value.dtype
    return "float"


def _partial(rank: Rank, how: str) -> Rank:
    if rank.state is State.SHARD:
        return Rank(State.PARTIAL, rank.origins, how)
    if rank.state is State.PARTIAL:
        return rank if rank.how == how else Rank(State.LOCAL, rank.origins)
    return rank


def function(dotted: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value | None:
    """The result of a function under one of the pure roots; None when the tables do not know it."""
    name = dotted.rpartition(".")[2]
    origin = library.origin(dotted)
    if origin is not None:
        return _of_origin(dotted, name, origin)
    if dotted in table.SAME_FUNCTIONS:
        return Value(facts.SAME)
    if dotted in table.GRADIENT_NORMS:
        return Value(facts.REDUCED, Kind.TENSOR, scalar=True, dtype="float")
    if dotted in table.TENSOR_MAKERS:
        return _made(args)
    if dotted in table.FILLED:
        return _filled(name, args)
    if not library.is_pure(dotted):
        return None
    return _pure(name, args, keywords)


def _pure(name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
    if name in table.FILLED_LIKE:
        return derived(facts.SAME, Kind.TENSOR, *args[:1])
    if args and args[0].kind is not Kind.MODULE:
        if name in table.REDUCTIONS:
            return reduced(args[0], name, args[1:], keywords)
        if name in table.PASSTHROUGH and len(args) > 0 and name not in ("split",):
            return _passed(args[0], name, args[1:])
    values = [*args, *keywords.values()]
    rank = facts.combine_all(value.rank for value in values)
    if name in table.JOINING:
        return derived(rank, Kind.TENSOR, *values, dtype=_common_dtype(values))
    scalar = bool(values) and all(value.scalar for value in values)
    return derived(
        facts.nonlinear(rank), Kind.TENSOR, *values, dtype=table.DTYPES.get(name, _common_dtype(values)), scalar=scalar
    )


def _common_dtype(values: Sequence[Value]) -> str:
    known = {value.dtype for value in values if value.kind in (Kind.TENSOR, Kind.BATCH)}
    return known.pop() if len(known) == 1 else ""


def _made(args: Sequence[Value]) -> Value:
    """`torch.tensor(x)`: the same facts, now a tensor."""
    if not args:
        return Value(facts.SAME, Kind.TENSOR)
    source = args[0]
    return derived(
        source.rank,
        Kind.TENSOR,
        source,
        scalar=source.kind is Kind.NUMBER,
        dtype=source.dtype,
        pending=source.pending,
    )


def _filled(name: str, args: Sequence[Value]) -> Value:
    """A tensor filled with one value: of a local length it is still the same number everywhere."""
    if name == "full" and len(args) > 1:
        return derived(args[1].rank, Kind.TENSOR, args[1])
    return Value(facts.SAME, Kind.TENSOR)


def _of_origin(dotted: str, name: str, rank: Rank) -> Value:
    kind = Kind.TENSOR if dotted.startswith("torch.") and rank == facts.RNG_LOCAL else Kind.NUMBER
    if rank.state is State.UNKNOWN or rank.state is State.SAME:
        return Value(rank)
    return Value(rank, kind, scalar=kind is Kind.NUMBER)


def builtin(name: str, args: Sequence[Value]) -> Value:
    """A pure builtin that needs no look at containers."""
    rank = facts.combine_all(value.rank for value in args)
    if name in table.HOST_BUILTINS:
        source = args[0] if args else Value(facts.SAME)
        const = _converted(name, source.const)
        kept = rank if name != "bool" else facts.nonlinear(rank)
        return derived(
            kept, Kind.NUMBER, source, data=source, scalar=True, dtype=table.HOST_BUILTINS[name], const=const, pending=source.pending
        )
    if name == "round":
        return derived(rank, args[0].kind if args else Kind.NUMBER, *args[:1], scalar=True, dtype=args[0].dtype)
    return derived(facts.nonlinear(rank), Kind.UNKNOWN, *args)


def _converted(name: str, const: Any) -> Any:
    from trl_lint.analysis.values import World

    return const if isinstance(const, World) else MISSING

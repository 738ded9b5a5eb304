"""The rank facts of operators and methods of tensors, arrays and the batches of a loader.

    >>> def after(name, rank, *args, **keywords):
    ...     print(method(of_method(name), TensorValue(rank), args, keywords).rank)
    >>> after("sum", ranks.SHARD)
    partial(sum)
    >>> after("sum", ranks.SHARD, dim=Value(const=-1))  # one value per sample stays one value per sample
    shard
    >>> after("view", ranks.partial("mean"))
    partial(mean)
    >>> after("exp", ranks.partial("mean"))  # the mean of exponentials is a different number
    local(data)
    >>> after("argmax", ranks.SHARD)  # no collective completes it
    local(data)

The transfer of a method is the column `rank` of its row in `knowledge/torch_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.containers import rows_of_full_batches
from trl_lint.analysis.transfer.tensors import tensor_devices
from trl_lint.analysis.transfer.tensors.operands import dimensions_of, is_data, is_number, unless_none
from trl_lint.domain import ranks
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import BatchRole, NumberValue, SizesValue, TensorValue, flag, library_name_of, role_of
from trl_lint.domain.numbers import with_source
from trl_lint.domain.provenance import FullBatches, RowsOfFullBatches, Step
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.torch_ops import InPlace, Operation, RankTransfer, of_method, operation

_NUMBERLIKE = frozenset({Kind.NUMBER, Kind.NONE})
# The kind of a result, by the kind of the value that it is derived from.
_INDEXED = {Kind.BATCH: Kind.BATCH, Kind.STRING: Kind.STRING, Kind.TENSOR: Kind.TENSOR}
_TAKEN_WHOLE = {Kind.BATCH: Kind.BATCH, Kind.STRING: Kind.STRING}
_COMPUTED_OF = {Kind.STRING: Kind.STRING, Kind.TENSOR: Kind.TENSOR}
# Not in torch_ops: reductions that do not change a single element.
_OF_ONE = frozenset({"all", "any", "max", "mean", "median", "min", "nanmean", "prod", "quantile", "sum"})
_SUM = of_method("sum")


def arithmetic(rank: Rank, left: Value, right: Value, divides: bool) -> Value:
    """The result of an element-wise operation with this fact."""
    kinds = {left.kind, right.kind}
    if Kind.TENSOR in kinds:
        kind = Kind.TENSOR
    elif kinds <= _NUMBERLIKE or (divides and left.kind is Kind.NUMBER and _is_setting(right)):
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


def _is_setting(value: Value) -> bool:
    """Whether a value comes from the program's settings alone: what a number is divided by is a number, too."""
    return value.kind is Kind.UNKNOWN and value.rank.is_uniform


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
    return derived(rank, _INDEXED.get(container.kind, Kind.UNKNOWN), container, index, dtype=container.dtype)


def attribute(value: Value, name: str) -> Value | None:
    """A tensor's attribute; None if it is a method."""
    row = operation(name)
    transfer = None if row is None else _ATTRIBUTES.get(row.rank)
    return None if row is None or transfer is None else transfer(row, value)


def _uniform_attribute(row: Operation, value: Value) -> Value:
    if row.name in _ON_CPU and value.device.startswith("cpu"):
        return flag(_ON_CPU[row.name])
    return Value(ranks.SAME, device=value.device if row.name == "device" else "")


# Not in torch_ops: the values of these attributes for a tensor on the CPU.
_ON_CPU = {"is_cpu": True, "is_cuda": False}


def _counted_attribute(row: Operation, value: Value) -> Value:
    return derived(_count(value), Kind.TENSOR, value, dtype="int").as_a(Value)


def _kept_attribute(row: Operation, value: Value) -> Value:
    return value.replace(grad=False) if row.name == "data" else value


_ATTRIBUTES: Mapping[RankTransfer, Callable[[Operation, Value], Value]] = {
    RankTransfer.UNIFORM: _uniform_attribute,
    RankTransfer.SHAPE: lambda _, value: _shape(value),
    RankTransfer.COUNT: _counted_attribute,
    RankTransfer.SIZE: _counted_attribute,
    RankTransfer.STRIDE: _counted_attribute,
    RankTransfer.KEEPS: _kept_attribute,
    RankTransfer.IS_TRUE: _kept_attribute,
}


def _count(value: Value) -> Rank:
    """The number of elements: the same everywhere for a tensor of one element."""
    if value.scalar:
        return ranks.SAME
    return Rank(State.PARTIAL, value.rank.origins, "count") if value.rank.differs else value.rank


def _shape(value: Value) -> Value:
    """The sizes of all dimensions, which depend on the data."""
    rank = ranks.SAME if value.scalar else collapsed(value.rank)
    sizes = derived(rank, Kind.UNKNOWN, value, dtype="int").as_a(SizesValue)
    step, rows = sizes.provenance, rows_of_full_batches(value)
    if step is None or rows is ranks.SAME or (rows is None and not isinstance(step, FullBatches)):
        return sizes
    # A value computed from a batch need not have its rows any more.
    kind = Step if rows is None else RowsOfFullBatches
    return sizes.replace(provenance=kind(step.module, step.node, step.text, step.before))


def dimension(shape: Value, index: Value) -> Value:
    """One size, or (for a slice) several: the numbers of samples add up over the ranks, other sizes do not."""
    rank = ranks.combine(shape.rank, index.rank)
    if index.kind is Kind.TUPLE:
        return derived(rank, Kind.UNKNOWN, shape, index, dtype="int").as_a(SizesValue)
    if index.const == 0 and type(index.const) is int and rank.differs:
        if isinstance(shape.provenance, (FullBatches, RowsOfFullBatches)) and rank == shape.rank:
            is_batch = isinstance(shape.provenance, FullBatches)
            return NumberValue(ranks.SAME if is_batch else ranks.UNKNOWN, scalar=True, dtype="int")
        rank = Rank(State.PARTIAL, rank.origins, "count")
    return derived(rank, Kind.NUMBER, shape, index, scalar=True, dtype="int")


def collapsed(rank: Rank) -> Rank:
    """The fact of a value that is no longer spread over the samples, nor a step of a reduction."""
    return Rank(State.LOCAL, rank.origins) if rank.differs else rank


# --- methods --------------------------------------------------------------------------------------------


def method(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """The result of `receiver.name(...)`: tensor methods are pure unless the table says otherwise."""
    return _METHODS.get(row.rank, _computed)(row, receiver, args, keywords)


def _uniform(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    return Value(ranks.SAME)


def _sized(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    shape = _shape(receiver)
    over = unless_none(keywords.get("dim", args[0] if args else None))
    sized = shape if over is None else dimension(shape, over)
    return sized if row.rank is RankTransfer.SIZE else sized.replace(rank=collapsed(sized.rank))


def _counted(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    return derived(_count(receiver), Kind.NUMBER, receiver, scalar=True, dtype="int")


def _to_host(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    is_one = row.rank is RankTransfer.TO_NUMBER or receiver.scalar
    kind = Kind.NUMBER if is_one else Kind.NUMBER_LIST
    result = derived(receiver.rank, kind, receiver, scalar=is_one, dtype=receiver.dtype, pending=receiver.pending)
    return with_source(receiver, result)


def kept(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    role = role_of(receiver)
    is_field = role is BatchRole.FIELD
    kind = Kind.BATCH if role in (BatchRole.METRICS, BatchRole.OUTPUT) else Kind.TENSOR
    if row.takes_batches and not is_field:
        kind = _TAKEN_WHOLE.get(receiver.kind, kind)
    is_test = row.rank is RankTransfer.IS_TRUE and receiver.dtype != "bool"
    result = derived(
        ranks.nonlinear(receiver.rank) if is_test else receiver.rank,
        kind,
        receiver,
        scalar=receiver.scalar and not row.grows,
        dtype=_dtype_passed(args) or row.dtype.of(receiver.dtype),
        pending=receiver.pending,
        device=tensor_devices.moved(row, receiver, args, keywords),
        grad=receiver.grad and not row.detaches,
    )
    return receiver.with_facts_of(result) if result.kind is receiver.kind and not is_field else result


def _dtype_passed(args: Sequence[Value]) -> str:
    """The dtype that is passed, as in `x.to(torch.float32)`."""
    dtype = ""
    for arg in args:
        if (name := library_name_of(arg)).startswith("torch."):
            dtype = table.DTYPE_NAMES.get(name[6:], dtype)
    return dtype


def reduced(row: Operation, value: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """The result of a reduction, over all or over given dimensions."""
    dtype = row.dtype.of(value.dtype)
    over = dimensions_of(args[1:] if row.has_order else args, keywords)
    if over is None:
        return derived(_partial(value, row.reduction), Kind.TENSOR, value, dtype=dtype, scalar=True)
    if row.has_other and is_data(over):
        rank = ranks.nonlinear(ranks.combine(value.rank, over.rank))
        return derived(rank, Kind.TENSOR, value, over, dtype=dtype)
    return derived(_over_dimensions(value, over, row.reduction), Kind.TENSOR, value, dtype=dtype)


def _over_dimensions(value: Value, over: Value, how: str) -> Rank:
    """The batch is dimension 0: a reduction over other dimensions keeps one value per sample."""
    dimensions = items_or_itself(over)
    if any(type(dimension.const) is int and dimension.const == 0 for dimension in dimensions):
        return _partial(value, how)
    if all(type(dimension.const) is int for dimension in dimensions):
        return ranks.nonlinear(value.rank)
    return collapsed(value.rank)


def _partial(value: Value, how: str) -> Rank:
    rank = value.rank
    if value.scalar and how in _OF_ONE:
        return rank
    if rank.state is State.SHARD:
        return Rank(State.PARTIAL, rank.origins, how)
    if rank.state is State.PARTIAL:
        return rank if rank.how == how else Rank(State.LOCAL, rank.origins)
    if rank.state is State.LOCAL:
        return Rank(State.LOCAL, rank.origins, how if rank.how in ("", how, ranks.DEALT) else "")
    return rank


def summed(value: Value) -> Value:
    """`sum(x)`, like the method."""
    return reduced(_SUM, value, (), {})


def as_tensor(row: Operation, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """`torch.tensor(x)`: the same facts, as a tensor."""
    if not args:
        return TensorValue(ranks.SAME)
    source = args[0]
    return derived(
        source.rank,
        Kind.TENSOR,
        source,
        scalar=is_number(source) and source.scalar,
        dtype=source.dtype,
        pending=source.pending,
    )


def _created_like(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    return as_tensor(row, args, keywords).replace(device=receiver.device)


def filled_like(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A tensor shaped like another one, filled with one value (a constant if none is passed)."""
    second = args[1] if len(args) > 1 and row.rank is RankTransfer.FULL_LIKE else None
    filling = keywords.get("fill_value", second)
    return TensorValue(ranks.SAME) if filling is None else derived(filling.rank, Kind.TENSOR, filling)


def drawn(row: Operation, values: Sequence[Value]) -> Value:
    """Random numbers: from the distribution and sizes passed, or only shaped like the argument."""
    if row.rank is RankTransfer.DRAWS_NEW:
        return TensorValue(ranks.RNG_LOCAL)
    operands = values if row.rank is RankTransfer.DRAWS else ()
    rank = ranks.combine_all([ranks.RNG_LOCAL, *(ranks.nonlinear(value.rank) for value in operands)])
    return derived(rank, Kind.TENSOR, *operands)


def _drawn_of(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    return drawn(row, (receiver, *args, *keywords.values()))


def _indexed(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    over = dimensions_of(args, keywords)
    return (_decided if over is None else _computed)(row, receiver, args, keywords)


def _decided(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    values = (receiver, *args, *keywords.values())
    return decision(row, ranks.nonlinear(ranks.combine_all(value.rank for value in values)), values)


def _computed(row: Operation, receiver: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    values = (receiver, *args, *keywords.values())
    rank = ranks.nonlinear(ranks.combine_all(value.rank for value in values))
    kind = _COMPUTED_OF.get(receiver.kind, Kind.BATCH)
    return derived(rank, kind, *values, dtype=row.dtype.of(receiver.dtype), scalar=receiver.scalar and not args)


def decision(row: Operation, rank: Rank, values: Sequence[Value]) -> Value:
    """One answer about all elements (`equal`, `argmax`): no collective derives the global one from the local ones."""
    kind = Kind.NUMBER if row.rank is RankTransfer.DECIDES else Kind.TENSOR
    return derived(collapsed(rank), kind, *values, scalar=True, dtype=row.dtype.of(""))


MethodTransfer = Callable[[Operation, Value, Sequence[Value], Mapping[str, Value]], Value]
# Operations that are only functions are computed from all operands when called like a method.
_METHODS: Mapping[RankTransfer, MethodTransfer] = {
    RankTransfer.KEEPS: kept,
    RankTransfer.IS_TRUE: kept,
    RankTransfer.REDUCES: reduced,
    RankTransfer.DECIDES: _decided,
    RankTransfer.INDEX: _indexed,
    RankTransfer.TO_NUMBER: _to_host,
    RankTransfer.TO_LIST: _to_host,
    RankTransfer.UNIFORM: _uniform,
    RankTransfer.SHAPE: _counted,
    RankTransfer.SIZE: _sized,
    RankTransfer.STRIDE: _sized,
    RankTransfer.COUNT: _counted,
    RankTransfer.CREATES_LIKE: _created_like,
    RankTransfer.FILLS_LIKE: filled_like,
    RankTransfer.FULL_LIKE: filled_like,
    RankTransfer.DRAWS: _drawn_of,
    RankTransfer.DRAWS_LIKE: _drawn_of,
}
# Only tensors and array scalars have these.
TO_HOST = frozenset({RankTransfer.TO_NUMBER, RankTransfer.TO_LIST})


def in_place(row: Operation, receiver: Value, args: Arguments) -> Value:
    """The tensor after an in-place operation such as `x.add_(y)`."""
    argument = args.rank()
    match row.in_place:
        case InPlace.REPLACES:
            rank = argument
        case InPlace.DRAWS:
            rank = ranks.RNG_LOCAL
        case InPlace.ADDS:
            rank = ranks.combine_linear(receiver.rank, argument)
        case InPlace.SCALES:
            rank = ranks.combine_scaling(receiver.rank, argument)
        case _:
            rank = ranks.nonlinear(ranks.combine(receiver.rank, argument))
    return derived(rank, receiver.kind, receiver, *args.all(), scalar=receiver.scalar, dtype=receiver.dtype)

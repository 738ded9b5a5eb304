"""The rank facts of functions of torch, numpy and Python, computed from those of their arguments.

>>> from trl_lint.knowledge.torch_ops import of_function
>>> def after(name, *args):
...     print(function(of_function(name), name, args, {}).rank)
>>> x, count = TensorValue(ranks.SHARD), NumberValue(ranks.partial("count"))
>>> after("torch.sum", x)  # like the method of its first argument
partial(sum)
>>> after("torch.cat", x, TensorValue(ranks.SAME))
shard
>>> after("torch.tensor", count)
partial(count)
>>> after("torch.split", x, count)  # in parts of as many rows
shard
>>> after("torch.zeros", count)  # the same number in each element
same
>>> after("torch.randn_like", x)
local(rng)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trl_lint.analysis.transfer.tensors import tensors
from trl_lint.analysis.transfer.tensors.operands import dimensions_of, is_data, spread
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, World
from trl_lint.domain.derived import derived
from trl_lint.domain.kinds import NumberValue, TensorValue
from trl_lint.domain.numbers import is_one, with_source
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.random_draws import UNSEEDED_GENERATORS
from trl_lint.knowledge.schema import GRADIENT_NORM
from trl_lint.knowledge.torch_ops import Operation, RankTransfer, ShapeTransfer


def function(row: Operation, dotted: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """The result of a function under one of the pure roots; None if nothing is known of it."""
    is_torch = dotted.startswith("torch.")
    if is_torch and row.rank in _DRAWING:
        return tensors.drawn(row, (*args, *keywords.values()))
    origin = library.origin(dotted)
    if origin is not None:
        return UNKNOWN if _may_be_alike(dotted, (*args, *keywords.values())) else _of_origin(origin)
    if dotted in table.SAME_FUNCTIONS:
        return Value(ranks.SAME)
    if dotted in table.GRADIENT_NORMS:
        return GRADIENT_NORM
    place = "host" if dotted.startswith("numpy.") else "" if "device" in keywords else "cpu"
    maker = _MAKERS.get(row.rank)
    if maker is not None:
        return maker(row, args, keywords).replace(device=place)
    if not library.is_pure(dotted):
        return None
    has_subject = not row.is_method or dotted.startswith(_OF_ARRAYS)
    value = _pure(row, args, keywords, has_subject)
    if dotted.startswith(table.FIND_PARTS) and value.rank.differs and value.rank.origins == ranks.Origin.RANK:
        return value.replace(rank=ranks.UNKNOWN)
    if dotted.startswith(("math.", "statistics.")):
        return value.as_a(NumberValue, scalar=True)
    return value.replace(device=place) if place == "host" and value.rank.differs else value


def _may_be_alike(dotted: str, seeds: Sequence[Value]) -> bool:
    """Whether a separate generator gets a seed that may be the same on all ranks: `numpy.random.default_rng(0)`."""
    given = [each for each in seeds if each.kind is not Kind.NONE]
    return dotted in UNSEEDED_GENERATORS and bool(given) and not any(each.rank.differs for each in given)


# Where a function of a method's name does what the method does to its first argument: `torch.split(x, sizes)`.
_OF_ARRAYS = ("numpy.", "torch.")


def _pure(row: Operation, args: Sequence[Value], keywords: Mapping[str, Value], has_subject: bool) -> Value:
    if row.rank in _WITHOUT_SUBJECT:
        return tensors.filled_like(row, TensorValue(ranks.SAME), args, keywords)
    transfer = _OF_SUBJECT.get(row.rank)
    if transfer is not None and args and args[0].kind is not Kind.MODULE and has_subject:
        return transfer(row, args[0], args[1:], keywords)
    values = (*args, *keywords.values())
    rank = ranks.combine_all(value.rank for value in values)
    if row.rank is RankTransfer.JOINS:
        return derived(rank, Kind.TENSOR, *values, dtype=_common_dtype(values))
    if row.rank is RankTransfer.DECIDES or (
        row.rank is RankTransfer.INDEX and dimensions_of(args[1:], keywords) is None
    ):
        return tensors.decision(row, rank, values)
    scalar = bool(values) and all(value.scalar for value in values)
    dtype = row.dtype.of(_common_dtype(values))
    return derived(ranks.nonlinear(rank), Kind.TENSOR, *values, dtype=dtype, scalar=scalar)


def _common_dtype(values: Sequence[Value]) -> str:
    known = {value.dtype for value in values if is_data(value)}
    return known.pop() if len(known) == 1 else ""


def _filled(row: Operation, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A tensor filled with one value: even if its length is rank-local, the number is the same everywhere."""
    dtype = "" if "dtype" in keywords else row.dtype.of("")
    has_one = row.shape is ShapeTransfer.SIZES and all(map(is_one, spread(args)))
    rank = ranks.ZERO if row.rank is RankTransfer.ZEROS else ranks.SAME
    return TensorValue(rank, dtype=dtype, scalar=has_one)


def _full(row: Operation, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    return derived(args[1].rank, Kind.TENSOR, args[1]) if len(args) > 1 else TensorValue(ranks.SAME)


_MAKERS: Mapping[RankTransfer, Callable[[Operation, Sequence[Value], Mapping[str, Value]], Value]] = {
    RankTransfer.CREATES: tensors.as_tensor,
    RankTransfer.FILLS: _filled,
    RankTransfer.ZEROS: _filled,
    RankTransfer.FULL: _full,
}
_DRAWING = frozenset({RankTransfer.DRAWS, RankTransfer.DRAWS_LIKE, RankTransfer.DRAWS_NEW})
_WITHOUT_SUBJECT = frozenset({RankTransfer.FILLS_LIKE, RankTransfer.FULL_LIKE})
# Functions with the same transfer as the method of their first argument.
_OF_SUBJECT: Mapping[RankTransfer, tensors.MethodTransfer] = {
    RankTransfer.KEEPS: tensors.kept,
    RankTransfer.IS_TRUE: tensors.kept,
    RankTransfer.REDUCES: tensors.reduced,
}


def _of_origin(rank: Rank) -> Value:
    if rank.state is State.UNKNOWN or rank.state is State.SAME:
        return Value(rank)
    return NumberValue(rank, scalar=True)


def builtin(name: str, args: Sequence[Value]) -> Value:
    """A pure builtin that does not depend on the contents of containers."""
    rank = ranks.combine_all(value.rank for value in args)
    if name in table.HOST_BUILTINS:
        source = args[0] if args else Value(ranks.SAME)
        const = _converted(source.const)
        kept_rank = rank if name != "bool" else ranks.nonlinear(rank)
        number = derived(
            kept_rank,
            Kind.NUMBER,
            source,
            scalar=True,
            dtype=table.HOST_BUILTINS[name],
            device=source.device,
            const=const,
            pending=source.pending,
        )
        return with_source(source, number)
    if name == "round":
        source = args[0] if args else NumberValue(ranks.SAME)
        kept_rank = source.rank if all(value.rank.state is State.SAME for value in args[1:]) else rank
        return derived(kept_rank, source.kind, source, scalar=True, dtype=source.dtype)
    return derived(ranks.nonlinear(rank), Kind.UNKNOWN, *args)


def _converted(const: object) -> object:
    return const if isinstance(const, World) else MISSING


def one_of(values: Sequence[Value]) -> Value:
    """The largest or least of several values: `min(1.0, hits / 3)`, where only a tensor with one element may be."""
    facts = [value.rank for value in values]
    rank = ranks.of_counts(ranks.nonlinear(ranks.combine_all(facts)), facts)
    kinds, dtypes = ({value.kind for value in values}, {value.dtype for value in values})
    is_compared = kinds == _TENSOR_AND_NUMBER
    kind = Kind.TENSOR if is_compared else kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN
    is_scalar = is_compared or all(value.scalar for value in values)
    return derived(rank, kind, *values, scalar=is_scalar, dtype=dtypes.pop() if len(dtypes) == 1 else "")


_TENSOR_AND_NUMBER = frozenset({Kind.NUMBER, Kind.TENSOR})

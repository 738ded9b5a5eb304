"""Equality of values up to what explains them, and hashable keys for it.

A function is analysed once for arguments with the same facts: `loss` and `2 * loss` of one step are alike, as both are
rank-local means, whatever explains them. `freeze` is the key under which such an analysis is found again.

    >>> from trl_lint.domain import ranks
    >>> from trl_lint.domain.kinds import TensorValue
    >>> from trl_lint.domain.provenance import Step
    >>> loss = TensorValue(ranks.LOCAL_MEAN)
    >>> again = loss.replace(provenance=Step(None, None, "computed elsewhere"))
    >>> same_facts(loss, again), freeze(loss, {}) == freeze(again, {}), same_facts(loss, loss.replace(scalar=True))
    (True, True, False)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

from trl_lint.domain import absence
from trl_lint.domain.choices import WithOptions
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import (
    BoundMethod,
    ContainerValue,
    Identity,
    IterableValue,
    LoaderValue,
    ModelValue,
    NumberListValue,
    NumberValue,
    PartialCall,
    TupleValue,
)
from trl_lint.domain.values import Kind, Value

# The keys of containers that are known already, by their identity and depth.
Frozen: TypeAlias = dict[tuple[Identity, int], Hashable]


def same_facts(a: Value, b: Value) -> bool:
    """Whether two values carry the same facts; their provenance may differ."""
    return a is b or (
        a.rank == b.rank
        and a.kind is b.kind
        and a.wrapping is b.wrapping
        and a.writes == b.writes
        and a.scalar == b.scalar
        and a.shape == b.shape
        and a.averaging == b.averaging
        and a.device == b.device
        and absence.same_absence(a.absence, b.absence)
        and (a.gradient is b.gradient or a.gradient == b.gradient)
        and (a.const is b.const or a.const == b.const)
        and _same_parts(a, b)
    )


# The parts of these kinds only explain the value.
_EXPLAINED = frozenset({Kind.NUMBER, Kind.NUMBER_LIST})


def _same_parts(a: Value, b: Value) -> bool:
    if a.kind in _EXPLAINED:
        return True
    return type(a) is type(b) and all(_same_part(getattr(a, part), getattr(b, part)) for part in a.parts)


def _same_part(a: object, b: object) -> bool:
    """Whether two parts carry the same facts: values, sequences of them, or anything else."""
    if a is b:
        return True
    if isinstance(a, Value) and isinstance(b, Value):
        return same_facts(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_part, a, b))
    return a == b


def _arguments(value: PartialCall) -> tuple[Value, ...]:
    return (*value.positional, *(item for _, item in value.keywords))


def _keyword_names(value: PartialCall) -> tuple[str, ...]:
    return tuple(name for name, _ in value.keywords)


def same_contents(a: Cell, b: Cell) -> bool:
    if a is b:
        return True
    if a.shape != b.shape or a.length != b.length or a.naming != b.naming or a.entries.keys() != b.entries.keys():
        return False
    if (a.rest is None) != (b.rest is None) or (a.rest is not None and not same_facts(a.rest, b.rest)):  # type: ignore[arg-type]
        return False
    return all(same_facts(value, b.entries[key]) for key, value in a.entries.items())


def freeze(value: Value, heap: Mapping[Identity, Cell], depth: int = 3, frozen: Frozen | None = None) -> Hashable:
    """A hashable key of a value's facts, with those of the tuples and containers it reaches, to a depth.

    frozen: the containers whose keys are known already, by their identity and depth.
    """
    frozen = {} if frozen is None else frozen
    const = value.const if isinstance(value.const, (str, int, float, type(None))) else id(value.const)
    return (
        value.rank,
        type(value),
        _frozen_parts(value, heap, depth, frozen),
        value.wrapping,
        type(const),
        const,
        value.scalar,
        value.dtype,
        value.device,
        value.writes,
        value.shape,
        value.averaging and value.averaging.key(),
        value.absence and value.absence.key,
        value.gradient and value.gradient.key,
    )


def _frozen_parts(value: Value, heap: Mapping[Identity, Cell], depth: int, frozen: Frozen) -> Hashable:
    if not value.parts:  # most values
        return ()
    match value:
        case NumberValue() | NumberListValue():
            return None
        case TupleValue():
            return tuple(freeze(item, heap, depth - 1, frozen) for item in value.items) if depth > 0 else None
        case WithOptions():
            return tuple(freeze(option, heap, depth, frozen) for option in value.options)
        case IterableValue():
            return (freeze(value.element, heap, depth - 1, frozen), value.length) if depth > 0 else None
        case ContainerValue():
            cells = sorted(value.identities)
            return tuple(_freeze_cell(each, heap, depth - 1, frozen) for each in cells) if depth > 0 else None
        case BoundMethod(receiver=ContainerValue() as container):
            return tuple(sorted(container.identities)), value.name  # what it changes is this container
        case BoundMethod():
            return (freeze(value.receiver, heap, depth - 1, frozen), value.name) if depth > 0 else value.name
        case PartialCall():
            arguments = (value.callee, *_arguments(value))
            return (
                (_keyword_names(value), *(freeze(item, heap, depth - 1, frozen) for item in arguments))
                if depth > 0
                else None
            )
        case ModelValue():
            return (*(getattr(value, part) for part in value.parts), value.grad)
        case LoaderValue():
            batch = None if depth <= 0 else value.batch
            return value.sampler, None if batch is None else freeze(batch, heap, depth - 1, frozen)
    return tuple(getattr(value, part) for part in value.parts)


def contents_of(value: Value, heap: Mapping[Identity, Cell]) -> Hashable:
    """The facts of a value and its contents, whichever containers hold them."""
    if not isinstance(value, ContainerValue):
        return value
    frozen: Frozen = {}
    cells = frozenset(_freeze_cell(identity, heap, 2, frozen) for identity in value.identities)
    return cells, freeze(value.with_parts(frozenset()), heap)


def _freeze_cell(identity: Identity, heap: Mapping[Identity, Cell], depth: int, frozen: Frozen) -> Hashable:
    cell = heap.get(identity)
    if cell is None or depth < 0:
        return None
    key = cell.keys.get(depth) if cell.keys else frozen.get((identity, depth))
    if key is None:
        named = [(str(name), freeze(value, heap, depth, frozen)) for name, value in cell.entries.items()]
        rest = None if cell.rest is None else freeze(cell.rest, heap, depth, frozen)
        key = (
            cell.shape,
            tuple(sorted(named, key=_name_text)),
            rest,
            cell.length,
            cell.naming,
            cell.factory is not None,
        )
        frozen[identity, depth] = key
        if all(map(_is_independent_of_heap, cell.values())):
            cell.keys = {**cell.keys, depth: key}
    return key


def _is_independent_of_heap(value: Value) -> bool:
    """Whether the key of a value does not depend on any container."""
    if type(value) is TupleValue:
        return all(map(_is_independent_of_heap, value.items))
    return not isinstance(value, _HOLDS_VALUES)


# The values whose key includes the values that they hold, up to the depth.
_HOLDS_VALUES = (BoundMethod, ContainerValue, IterableValue, LoaderValue, PartialCall, TupleValue, WithOptions)


def _name_text(item: tuple[str, Hashable]) -> str:
    return item[0]

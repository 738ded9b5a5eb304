"""Joins: the value where control flow merges, fact by fact.

>>> from trl_lint.domain.kinds import TensorValue
>>> from trl_lint.domain.values import UNKNOWN
>>> loss, same = TensorValue(ranks.LOCAL_MEAN), Value(ranks.SAME)
>>> print(join(loss, same).rank, join(loss, loss) is loss, join(loss, BOTTOM) is loss)
local(data) True True
>>> print(join(same, Value(ranks.SAME, const=1), divided=ranks.RANK_LOCAL).rank)  # x = a if rank == 0 else 1
local(rank)
>>> print(join_elements(loss, UNKNOWN).rank, join(loss, UNKNOWN).rank)  # in a list, or as one value
local(data) unknown
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from trl_lint.domain import absence, averaging, devices, gradient_paths, ranks, shapes
from trl_lint.domain.choices import (
    OneOfClasses,
    OwnInstance,
    ProjectChoice,
    among_others,
    classes_of,
    one_object,
    one_of_definitions,
    one_of_modules,
)
from trl_lint.domain.constants import MISSING, NONE_ON_SOME, OPEN, OnOneProcess
from trl_lint.domain.kinds import (
    BLANKS,
    BasePrefix,
    BatchValue,
    BoundMethod,
    ContainerValue,
    InstanceValue,
    IterableValue,
    LoaderValue,
    ModelRole,
    ModelValue,
    NumberValue,
    PartialCall,
    PreparedObject,
    TupleValue,
    as_instead,
    shape_of,
)
from trl_lint.domain.loader_samplers import either_sampler
from trl_lint.domain.model_roles import common_role, in_model_role
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.provenance import SharedName, Step, WrappedWhere, either
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.shapes import Shape
from trl_lint.domain.small_tuples import is_small
from trl_lint.domain.state_dicts import StateDict, either_state
from trl_lint.domain.values import BOTTOM, NO_WRITES, UNKNOWN, Kind, Value, Wrapping, Write

_Item = TypeVar("_Item")


def join_all(values: Iterable[Value]) -> Value:
    result: Value = BOTTOM
    for value in values:
        result = join(result, value)
    return result


def join(a: Value, b: Value, divided: Rank = ranks.SAME) -> Value:
    """The value where control flow merges. `divided` is the fact of the condition that chose between them.

    Two values that are each the same on all ranks result in a local one if the ranks chose differently.
    """
    if a is b or b.rank.state is State.BOTTOM:
        return a
    if a.rank.state is State.BOTTOM:
        return b
    if not (divided := divided.as_condition).differs and a.rank is b.rank and _differs_only_in_provenance(a, b):
        if a.rank is ranks.DRAWN and a.provenance is not b.provenance:
            return _drawn_on_either(a, b)
        return a if a.provenance is not None or b.provenance is None else b
    if (inner := _unwrapped_module(a, b) or _unwrapped_module(b, a)) is not None:
        return inner
    joined = _joined_kinds(a, b, divided)
    if divided.differs and _is_choice_between(joined, a, b):
        return UNKNOWN
    const = a.const if _same_constant(a.const, b.const) else _none_on_some(a, b, divided)
    rank = _joined_rank(a, b, joined, const, divided)
    main, other = (a, b) if a.rank.differs or a.provenance is not None else (b, a)
    averaged = averaging.joined(a.averaging, b.averaging)
    differs = rank.differs
    condition = _condition_of_both(a, b) if joined.kind is Kind.MODEL else None
    found = joined.with_all_facts(
        rank,
        const,
        wrapping=_join_wrapping(a, b, joined.kind) if condition is None else Wrapping.MAYBE,
        scalar=(a.scalar or a.kind is Kind.NONE) and (b.scalar or b.kind is Kind.NONE),
        dtype=a.dtype if a.dtype == b.dtype else _joined_dtype(a, b),
        provenance=condition
        or (_explanation(main, other) if differs or rank is ranks.DRAWN or _explains(a, b, joined) else None),
        writes=_writes(a, b, divided) if differs else NO_WRITES,
        pending=_union(a.pending, b.pending) if differs else NO_WRITES,
        device=_join_device(a, b),
        grad=(a.grad and b.grad) if Kind.NONE in (a.kind, b.kind) else a.grad or b.grad,
        shape=None if a.shape is b.shape is None else shapes.join(*_shapes(a, b)),
        averaging=averaged if rank.state is not State.UNKNOWN else averaging.only_terms(averaged),
    )
    return gradient_paths.of_either(_with_absence(found, a, b), a, b)


def _explanation(main: Value, other: Value) -> Step | None:
    found = main.provenance or other.provenance
    return found.on_some_way if isinstance(found, SharedName) and not other.rank.differs else found


def _is_choice_between(joined: Value, a: Value, b: Value) -> bool:
    """Whether two values are objects or classes of which all ranks are to have the same one.

    What an object does that each rank makes in a place of its own is not done by all: `Saver(x) if main else Saver()`.
    """
    are_made = isinstance(joined, OwnInstance) and a.kind is b.kind
    return (are_made or isinstance(joined, ProjectChoice)) and not a.same_parts(b)


def _with_absence(found: Value, a: Value, b: Value) -> Value:
    """`found`, the join of `a` and `b`, with the join of their absences."""
    lacking = absence.joined(a.absence, as_instead(a), b.absence, as_instead(b))
    return found if found.absence is lacking else found.replace(absence=lacking)


def _unwrapped_module(inner: Value, other: Value) -> Value | None:
    """The module inside a wrapper, if the other branch has the same model without a wrapper; None for everything else.

    net = model.module if distributed else model
    """
    if inner.wrapping is not Wrapping.UNWRAPPED or other.wrapping is not Wrapping.BARE:
        return None
    is_unwrapped = inner.kind is other.kind is Kind.MODEL and isinstance(other.provenance, WrappedWhere)
    return inner.replace(grad=inner.grad or other.grad) if is_unwrapped else None


def _joined_rank(a: Value, b: Value, joined: Value, const: object, divided: Rank) -> Rank:
    """The joined rank fact. If the kind of the result is unknown, so is what a value of that kind holds."""
    rank = _rank_of_either(a, b, joined)
    if divided.differs and rank.state is State.SAME and const in _OF_NO_ONE_VALUE and not _same_object(a, b):
        return Rank(State.LOCAL, divided.origins)
    if _asks_for_rank(divided) and rank in (ranks.UNKNOWN, ranks.SETTING) and _is_empty(a) is not _is_empty(b):
        return ranks.GUARDED  # a test of it keeps the ranks out that have nothing: `None if rank else args.folder`
    return rank


# The constants of a value that may be several.
_OF_NO_ONE_VALUE = OPEN | {NONE_ON_SOME}


def _asks_for_rank(divided: Rank) -> bool:
    """Whether the condition that chooses between two values depends on the rank."""
    return divided.differs and ranks.Origin.RANK in divided.origins


def _is_empty(value: Value) -> bool:
    return value.kind is Kind.NONE or value.const in ("", False)


def _rank_of_either(a: Value, b: Value, joined: Value) -> Rank:
    rank = ranks.join(a.rank, b.rank)
    if joined.kind is Kind.CONTAINER:  # its contents have their own facts; on some ranks it may be None
        return rank if rank.differs else ranks.SAME
    if (a.rank.is_reduced or b.rank.is_reduced) and Kind.NONE in (a.kind, b.kind) and rank == ranks.SAME:
        return ranks.REDUCED  # where there is nothing, there is nothing to reduce: `if x is None: return None`
    may_hide = joined.kind is Kind.UNKNOWN and rank.state is State.SAME
    return ranks.UNKNOWN if may_hide and (_may_hold_differing(a) or _may_hold_differing(b)) else rank


def _may_hold_differing(value: Value) -> bool:
    """Whether a value that is the same on all ranks may hold values that are not, as the contents of containers may."""
    if value.kind is Kind.CONTAINER:
        return True
    return any(each.rank.state is not State.SAME or _may_hold_differing(each) for each in value.inside())


def _joined_dtype(a: Value, b: Value) -> str:
    """The dtype of one value if the other is None; int if the other is an integer constant."""
    for one, other in ((a, b), (b, a)):
        if other.kind is Kind.NONE or (one.dtype == "int" and type(other.const) is int):
            return one.dtype
    return ""


def _drawn_on_either(a: Value, b: Value) -> Value:
    """A value drawn at random in either of two branches: each of the draws needs a seed."""
    provenance = either(a.provenance, b.provenance)
    return a if provenance is a.provenance else a.replace(provenance=provenance)


def _writes(a: Value, b: Value, divided: Rank) -> frozenset[Write]:
    """The statements that put what differs between ranks into a metrics container.

    If only one of two values is known to differ, a statement that puts the other, which is the same on all ranks, does
    not count.
    """
    if a.rank.differs is not b.rank.differs and not divided.differs:
        differing, same = (a, b) if a.rank.differs else (b, a)
        return differing.writes or same.writes
    return _union(a.writes, b.writes)


def _union(a: frozenset[_Item], b: frozenset[_Item]) -> frozenset[_Item]:
    """The union of both; the first object itself if the second adds nothing, as values are compared by identity."""
    return a if b <= a else a | b


def _differs_only_in_provenance(a: Value, b: Value) -> bool:
    """Whether two values differ only in what explains them (called very often, so it compares by identity)."""
    return (
        type(a) is type(b)
        and a.const is b.const
        and a.dtype is b.dtype
        and a.scalar is b.scalar
        and a.writes is b.writes
        and a.pending is b.pending
        and a.wrapping is b.wrapping
        and a.device == b.device
        and a.grad is b.grad
        and a.shape is b.shape
        and a.averaging is b.averaging
        and a.absence is b.absence
        and a.gradient is b.gradient
        and a.has_parts_of(b)
    )


def _shapes(a: Value, b: Value) -> tuple[Shape | None, Shape | None]:
    """The shapes of two values that are joined: None has no shape, so that of the other is used for both."""
    if Kind.NONE in (a.kind, b.kind):
        known = a.shape or b.shape
        return known, known
    return shape_of(a), shape_of(b)


def join_elements(a: Value, b: Value, divided: Rank = ranks.SAME) -> Value:
    """What is known of the elements of a container that holds both.

    If one element is known to differ, that remains known although nothing is known of another.
    """
    merged = gradient_paths.of_element(among_others(join(a, b, divided), a, b), a, b)
    if merged.rank.state is State.UNKNOWN:
        for value in (a, b):
            if value.rank.differs:
                differing = value.with_facts_of(merged) if merged.kind is Kind.UNKNOWN else merged
                return differing.replace(
                    rank=value.rank, provenance=value.provenance, writes=value.writes, averaging=value.averaging
                )
    return merged


def with_element(known: Value, added: Value) -> Value:
    """What is known of the elements of a container that gets one more, which may be None on some ranks.

    [Evaluation(), Saver() if rank == 0 else None]     a loop over it meets None on the other ranks
    """
    found = join_elements(known, added)
    return found if known.absence is added.absence is None else _with_lack_of_one(found, (known, added))


def any_of(values: Sequence[Value]) -> Value:
    """What is known of each of some values, one of which may be None on some ranks."""
    return _with_lack_of_one(join_all(values), values)


def _with_lack_of_one(found: Value, values: Sequence[Value]) -> Value:
    lacking = next((each.absence for each in values if each.absence is not None and each.absence.is_none), None)
    return found if lacking is None or found.absence is not None else found.replace(absence=lacking)


def _same_constant(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and a is not MISSING and a == b)


def _none_on_some(a: Value, b: Value, divided: Rank) -> object:
    """NONE_ON_SOME for a value whose contents may differ, and which may be None on some ranks only, else MISSING.

    That a number itself differs does not matter: it is a number on all ranks.
    """
    if NONE_ON_SOME in (a.const, b.const):
        return NONE_ON_SOME
    is_none_on_one = _asks_for_rank(divided) and (a.kind is Kind.NONE) is not (b.kind is Kind.NONE)
    return NONE_ON_SOME if is_none_on_one and {a.kind, b.kind} & CONTENTS_DIFFER else MISSING


# Values of these kinds may differ between ranks that all have one.
CONTENTS_DIFFER = frozenset({
    Kind.BATCH, Kind.CONTAINER, Kind.ITERABLE, Kind.NUMBER, Kind.NUMBER_LIST, Kind.TENSOR, Kind.TUPLE, Kind.UNKNOWN,
})  # fmt: skip


def _same_object(a: Value, b: Value) -> bool:
    """Whether both are the same thing, so that it does not matter which branch was taken."""
    if a.kind is not b.kind:
        return False
    return a.kind in _ONE_OF_ITS_KIND or (_has_identifying_parts(a) and a.same_parts(b))


def _has_identifying_parts(value: Value) -> bool:
    """Whether the parts of a value identify it."""
    if isinstance(value, (TupleValue, IterableValue, BoundMethod, BasePrefix)):
        return True
    is_known = value.kind is not Kind.UNKNOWN
    return is_known and any(getattr(value, part) != nothing for part, nothing in value.parts.items())


# For these kinds it does not matter which one of several it is.
_ONE_OF_ITS_KIND = frozenset(
    {Kind.MODEL, Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.MODULE, Kind.CONTAINER, Kind.LOADER}
)


def _joined_kinds(a: Value, b: Value, divided: Rank) -> Value:
    """A value of the common kind of both, with the facts of one of them."""
    if a.same_parts(b):
        return a
    if a.kind is b.kind:
        known = _on_one_process(a, b) or _on_one_process(b, a)
        return _merged_parts(a, b, divided) if known is None else NumberValue(on_one_process=known)
    for value, other in ((a, b), (b, a)):
        # A batch that became a known dict on one branch: it holds the batch. Or one loader for a test, else several.
        if value.kind is Kind.NONE or (value.kind, other.kind) in _HOLDS:
            return other
        if isinstance(value, PreparedObject) and _is_prepared_model(other, value):
            return other
    chosen = one_of_definitions(a, b) or one_of_modules(a, b)
    return chosen or a.as_a(BatchValue if a.kind in _DATA and b.kind in _DATA else Value)


def _is_prepared_model(model: Value, prepared: Value) -> bool:
    """Whether one value is a model that is wrapped in the same way as the other, a prepared object of unknown kind."""
    if model.kind is not Kind.MODEL or model.wrapping is not (prepared.wrapping or Wrapping.WRAPPED):
        return False
    return model.wrapping is not Wrapping.MAYBE or model.provenance is prepared.provenance


# Values that are one of these kinds can still be computed with and logged.
_DATA = frozenset({Kind.BATCH, Kind.NUMBER, Kind.NUMBER_LIST, Kind.TENSOR})
_HOLDS = frozenset({(Kind.BATCH, Kind.CONTAINER), (Kind.LOADER, Kind.CONTAINER), (Kind.LOADER, Kind.TUPLE)})


def _merged_parts(a: Value, b: Value, divided: Rank) -> Value:
    if isinstance(a, ContainerValue) and isinstance(b, ContainerValue):
        return a if b.identities <= a.identities else a.one_of(a.identities | b.identities)
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        items = _join_items(a.items, b.items, divided)
        return a.with_parts(items) if is_small(items) else a.as_a(Value)
    if isinstance(a, IterableValue) and isinstance(b, IterableValue):
        return a.with_parts(join(a.element, b.element), ranks.join_lengths(a.length, b.length), None)
    if isinstance(a, LoaderValue) and isinstance(b, LoaderValue):
        batch = None if a.batch is None or b.batch is None else join(a.batch, b.batch)
        return a.with_parts(batch, either_sampler(a.sampler, b.sampler))
    if isinstance(a, InstanceValue) and isinstance(b, InstanceValue):
        instance = a.either(b) or b.either(a)
        if instance is not None:
            return instance
    if isinstance(a, StateDict) and isinstance(b, StateDict):
        return either_state(a, b)
    objects = one_object(a, b) if a.kind is Kind.INSTANCE else None
    if objects is not None:
        return objects
    one, other = classes_of(a), classes_of(b)
    if one and other:
        return a.as_a(OneOfClasses).with_parts(one | other)
    if isinstance(a, ModelValue) and in_model_role(a, ModelRole.OTHER).same_parts(in_model_role(b, ModelRole.OTHER)):
        return in_model_role(a, common_role(a, b))
    if isinstance(a, PartialCall) and isinstance(b, PartialCall) and a.callee.same_parts(b.callee):
        names = tuple(name for name, _ in a.keywords)
        if len(a.positional) == len(b.positional) and names == tuple(name for name, _ in b.keywords):
            entries = (join(x, y, divided) for (_, x), (_, y) in zip(a.keywords, b.keywords, strict=True))
            joined: Value = a.with_parts(
                a.callee, _join_items(a.positional, b.positional, divided), tuple(zip(names, entries, strict=True))
            )
            return joined
    chosen = one_of_definitions(a, b)
    return chosen or a.as_a(BLANKS.get(a.kind, Value))


def _on_one_process(a: Value, b: Value) -> OnOneProcess | None:
    """What a number is on a single process if another branch, where there may be only one, has the same constant.

    main = rank == 0 if distributed else True
    """
    known = single_process_value(a)
    is_same = known is not None and (known is single_process_value(b) or _same_constant(known.value, b.const))
    return known if is_same else None


def _join_items(a: tuple[Value, ...], b: tuple[Value, ...], divided: Rank) -> tuple[Value, ...]:
    """The joined common prefix, and the further items of the longer one, which only code that expects them uses."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    head = tuple(join(x, y, divided) for x, y in zip(longer, shorter, strict=False))
    return head + longer[len(shorter) :]


def _join_wrapping(a: Value, b: Value, kind: Kind) -> Wrapping | None:
    if kind is not Kind.MODEL:
        return a.wrapping if a.wrapping is b.wrapping else None
    known = {value.wrapping for value in (a, b) if value.kind is Kind.MODEL}
    if known == {Wrapping.BARE, Wrapping.UNWRAPPED}:
        return Wrapping.BARE
    if known == {Wrapping.MAYBE} and a.kind is b.kind and a.provenance is not b.provenance:
        return Wrapping.UNKNOWN  # under different conditions
    return known.pop() if len(known) == 1 else Wrapping.UNKNOWN


def _condition_of_both(a: Value, b: Value) -> WrappedWhere | None:
    """The condition under which a model is wrapped, if tests on one branch or both have narrowed it further."""
    one, other = a.provenance, b.provenance
    if not (isinstance(one, WrappedWhere) and isinstance(other, WrappedWhere) and one.node is other.node):
        return None
    if a.kind is not b.kind or not {a.wrapping, b.wrapping} <= _DISTINGUISHED:
        return None
    if not one.outcomes or (other.outcomes and set(one.outcomes) >= set(other.outcomes)):
        return one
    return other if not other.outcomes or set(other.outcomes) >= set(one.outcomes) else None


def _join_device(a: Value, b: Value) -> str:
    """The device of the joined value; for models, also whether only one of them is frozen as a whole."""
    if Kind.MODEL not in (a.kind, b.kind) or not _MODELS.issuperset((a.kind, b.kind)):
        return devices.joined(a, b)
    either = (a.device, b.device)
    if devices.PARTLY_FROZEN in either:
        return devices.PARTLY_FROZEN
    is_frozen_on_one = a.grad is not b.grad and devices.EVALUATED not in either
    return devices.MAYBE_FROZEN if is_frozen_on_one or devices.MAYBE_FROZEN in either else devices.joined(a, b)


def _explains(a: Value, b: Value, joined: Value) -> bool:
    """Whether two models, or their state dicts, share a fact about the wrapper that the provenance of either explains.

    None has no wrapper, and does not remove the explanation of the model.
    """
    is_either_prepared = isinstance(a, PreparedObject) or isinstance(b, PreparedObject)
    same_wrapping = a.wrapping is b.wrapping or is_either_prepared or Kind.NONE in (a.kind, b.kind)
    is_explained = joined.kind is Kind.MODEL and same_wrapping and joined.wrapping in _EXPLAINED
    return is_explained or isinstance(joined, StateDict)


# Values of these kinds may be models for `prepare`.
_MODELS = frozenset({Kind.MODEL, Kind.UNKNOWN})
_DISTINGUISHED = frozenset({Wrapping.BARE, Wrapping.MAYBE, Wrapping.WRAPPED})
_EXPLAINED = frozenset({Wrapping.MAYBE, Wrapping.UNWRAPPED, Wrapping.WRAPPED})

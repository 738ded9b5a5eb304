"""What a value that is computed from others takes over from them.

`loss / count` differs between ranks because `loss` does; it is on the device of `loss`, and has a gradient if `loss`
has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Unpack

from trl_lint.domain import devices
from trl_lint.domain.averaging import joined, only_terms
from trl_lint.domain.constants import WORLD_TRUE
from trl_lint.domain.gradient_paths import combined_all
from trl_lint.domain.kinds import BLANKS, NumberValue, flag
from trl_lint.domain.provenance import LauncherVariable, NameOfOneRank, NameOfOwn, SharedName, Step, source_step
from trl_lint.domain.ranks import DRAWN, RANK_LOCAL, ROOT_LOCAL, Origin, Rank, State
from trl_lint.domain.values import NO_WRITES, Facts, Kind, Value, Write

# A value that is computed from these kinds only has no gradient.
_WITHOUT_GRADIENT = frozenset({Kind.NONE, Kind.NUMBER, Kind.NUMBER_LIST, Kind.STRING})
_DTYPES_WITHOUT_GRADIENT = frozenset({"bool", "int"})


@lru_cache(maxsize=1024)
def _shared(kind: Kind, rank: Rank, device: str) -> Value:
    """One shared object for values that carry no other facts, as values are compared by identity first."""
    return BLANKS.get(kind, Value)(rank, device=device)


def derived(rank: Rank, kind: Kind, *sources: Value, **fields: Unpack[Facts]) -> Value:
    """A value computed from others; the first source that differs between ranks explains why it does."""
    cls = BLANKS.get(kind, Value)
    if "device" not in fields:
        fields["device"] = devices.together(sources)
    if kind not in _WITHOUT_GRADIENT:
        gradient = combined_all([each.gradient for each in sources if each.gradient is not None])
        if gradient is not None and fields.get("grad", True) and fields.get("dtype") not in _DTYPES_WITHOUT_GRADIENT:
            fields.setdefault("gradient", gradient)
    if not rank.differs:
        return _shared(kind, rank, fields["device"]) if len(fields) == 1 else cls(rank, **fields)
    provenance, grad, averaging = None, False, None
    written: list[frozenset[Write]] = []
    for source in sources:
        if source.averaging is not None and source.averaging.terms:
            averaging = joined(averaging, only_terms(source.averaging))
        grad = grad or (source.grad and source.kind not in _WITHOUT_GRADIENT)
        if source.rank.differs:
            provenance = provenance or source.provenance
            if source.writes or source.kind is not Kind.NUMBER:
                written.append(source.writes)
    fields.setdefault("averaging", averaging)
    fields.setdefault("grad", grad and fields.get("dtype") not in _DTYPES_WITHOUT_GRADIENT)
    if isinstance(provenance, SharedName):
        provenance = _of_name(provenance, sources)
    fields["provenance"], fields["writes"] = provenance, _written_before(written)
    return cls(rank, **fields)


def _of_name(provenance: SharedName, sources: Sequence[Value]) -> Step | None:
    """The provenance of a name; if a date is only a part of it, that of the part by which ranks tell theirs apart."""
    if provenance.coarse:
        others = [each.provenance for each in sources if each.rank.differs]
        own = next((each for each in others if isinstance(each, NameOfOwn)), None)
        fine = next((each for each in others if isinstance(each, SharedName) and not each.coarse), provenance)
        if own is not None:
            return own
        provenance = fine
    # what is added to the name may differ between ranks
    return provenance.of_one_rank() if any(map(_may_be_of_one_rank, sources)) else provenance


def _may_be_of_one_rank(part: Value) -> bool:
    """Whether a part of a name may be another one on each rank: it is unknown, or such a part was added to it."""
    if part.rank.differs:
        source = source_step(part.provenance)
        return isinstance(source, NameOfOneRank) or (
            part.rank.origins == Origin.CLOCK and not isinstance(source, SharedName)
        )
    return part.rank.state is State.UNKNOWN and not part.rank.how


def _written_before(written: Sequence[frozenset[Write]]) -> frozenset[Write]:
    """The statements that put a value into a metrics container, from those of the values that it is computed from.

    A metric that is divided by a number is still the same metric. Combined with a tensor that was in no such container,
    it is a new one: a field of a batch does not become a metric because it is kept on the trainer.
    """
    if not written or not all(written):
        return NO_WRITES
    return written[0] if len(written) == 1 else frozenset().union(*written)


def presence_of(value: Value) -> NumberValue | None:
    """The truth of a value that is None on some ranks only: it differs between ranks. None for other values."""
    absence = value.absence
    return None if absence is None or not absence.is_none else flag(rank=RANK_LOCAL, provenance=absence.condition)


def truth_on_some(value: Value) -> NumberValue | None:
    """The truth of a value that is None or a constant flag on some ranks only, or reduced to one: it differs.

    The text of a variable that a launcher sets differs, and its truth does not: "0" is true, like all others.
    """
    if value.kind is Kind.STRING and isinstance(value.provenance, LauncherVariable):
        return flag(WORLD_TRUE)
    if value.rank.is_of_root:
        return flag(rank=ROOT_LOCAL, provenance=value.provenance)
    absence = value.absence
    return None if absence is None or absence.is_unbound else flag(rank=RANK_LOCAL, provenance=absence.condition)


def of_drawn_table(table: Value, result: Value) -> Value:
    """The result of a method, attribute or column of a table whose rows were drawn at random, or `loader.dataset`."""
    if table.kind is Kind.LOADER and table.provenance is not None:  # its data set is drawn
        return Value(DRAWN, provenance=table.provenance)
    is_drawn = table.rank == DRAWN and table.kind is Kind.UNKNOWN
    return table if is_drawn and result.rank.state is State.UNKNOWN else result

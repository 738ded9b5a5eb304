"""Rank facts: how a value relates to the same value on the other ranks.

`join` is the fact where control flow merges, `combine` the fact of the result of an operator. `BOTTOM` is neutral in a
join and `UNKNOWN` absorbs everything; in a combination the strongest of local > partial, shard > unknown > same wins,
as a local operand makes any result local. A batch is a shard of the data; its sum is a part of the global sum, and
remains one when it is scaled by what is the same everywhere, but not when its logarithm is taken:

    >>> total = partial("sum")
    >>> print(combine(SHARD, SAME), combine(SHARD, UNKNOWN), join(SHARD, UNKNOWN), join(SHARD, BOTTOM))
    shard shard unknown shard
    >>> print(combine_linear(total, total), combine_scaling(total, SAME), nonlinear(total))
    partial(sum) partial(sum) local(data)
    >>> print(combine_linear(total, SAME), combine_linear(total, ZERO))  # a constant would be added once per rank
    local(data) partial(sum)
    >>> print(LOCAL_MEAN, RANK_LOCAL, combine(RANK_LOCAL, CLOCK_LOCAL), REDUCED)
    local(data) local(rank) local(rank, clock) same
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, IntFlag, auto
from functools import cache
from typing import NamedTuple


class Origin(IntFlag):
    """Why a local value differs: rules may care about some of these and not about others."""

    __hash__ = int.__hash__  # an enum's own is slow

    NONE = 0
    DATA = auto()
    RANK = auto()
    CLOCK = auto()
    MEMORY = auto()
    RNG = auto()
    IO = auto()
    ROOT = auto()  # all ranks have reduced it, and only one has the result


class State(IntEnum):
    """The height of a fact for `combine`: the strongest operand decides."""

    __hash__ = int.__hash__  # an enum's own is slow

    BOTTOM = 0  # no value yet (optimistic start of loops, attributes, recursion)
    SAME = 1  # equal on all ranks
    UNKNOWN = 2
    SHARD = 3  # a local piece; the pieces' concatenation is the whole
    PARTIAL = 4  # a local piece of a global reduction
    LOCAL = 5  # differs, no known relation


class Rank(NamedTuple):
    """One rank fact.

    `how` is the reduction of a PARTIAL; for a LOCAL, the last reduction that produced it ("mean" for a loss, "" if
    there is none); "reduced" for a SAME that is the result of a collective, and "zero" for the constant 0, to which a
    sum adds up; "setting" for an UNKNOWN that depends on the program's settings only, as far as names show.
    The origin ROOT of a SAME says that it is the one result of a collective, which a single rank has: right wherever it
    is shown, but no condition for all ranks.
    """

    state: State
    origins: Origin = Origin.NONE
    how: str = ""

    @property
    def differs(self) -> bool:
        """Known to differ between ranks (not merely unknown)."""
        return self.state >= State.SHARD

    @property
    def is_by_rank(self) -> bool:
        """Whether it differs by the number of the rank, and by nothing else."""
        return self.differs and self.origins == Origin.RANK

    @property
    def is_by_place(self) -> bool:
        """Whether it differs by the number of the rank, if also by which files there are: it is read at its place."""
        return self.differs and Origin.RANK in self.origins and not self.origins & ~(Origin.RANK | Origin.IO)

    @property
    def is_of_own_data(self) -> bool:
        """Whether it is computed from this rank's own data, and no time or amount of memory, which stay each rank's."""
        return Origin.DATA in self.origins and not self.origins & (Origin.CLOCK | Origin.MEMORY)

    @property
    def is_uniform(self) -> bool:
        """Whether it is the same on all ranks, or depends on settings only, which are the same."""
        return self.state is State.SAME or (self.state is State.UNKNOWN and self.how == "setting")

    @property
    def is_reduced(self) -> bool:
        """Whether it is the result of a collective, on all ranks or on one."""
        return self.state is State.SAME and self.how == "reduced"

    @property
    def is_of_root(self) -> bool:
        """Whether only one rank has the result of a reduction that it is computed from."""
        return self.state is State.SAME and Origin.ROOT in self.origins

    @property
    def as_condition(self) -> Rank:
        """The fact of a condition with this fact: ranks without the result have something else there."""
        return ROOT_LOCAL if self.is_of_root else self

    def __str__(self) -> str:
        if self.is_of_root:
            return "same(root)"
        if self.state is State.PARTIAL:
            return f"partial({self.how})"
        if self.state is State.LOCAL:
            names = [origin.name.lower() for origin in Origin if origin in self.origins and origin.name]
            return f"local({', '.join(names)})"
        return self.state.name.lower()


BOTTOM = Rank(State.BOTTOM)
SAME = Rank(State.SAME)
REDUCED = Rank(State.SAME, how="reduced")
REDUCED_TO_ONE = Rank(State.SAME, Origin.ROOT, "reduced")
_OF_ROOT = Rank(State.SAME, Origin.ROOT)
ZERO = Rank(State.SAME, how="zero")
UNKNOWN = Rank(State.UNKNOWN)
# Unknown, but computed from settings and constants only: a path or a test with the same result on all ranks.
SETTING = Rank(State.UNKNOWN, how="setting")
# Unknown, combined with a test of the rank: `unknown and is_main_process`. It is true on some ranks at most.
GUARDED = Rank(State.UNKNOWN, Origin.RANK)
# Unknown, but reduced if there are other ranks to agree with.
AGREED = Rank(State.UNKNOWN, how="agreed")
# Unknown, and drawn at random by each rank: of the same size as on the others, with other contents.
DRAWN = Rank(State.UNKNOWN, Origin.RNG)
SHARD = Rank(State.SHARD, Origin.DATA)
LOCAL = Rank(State.LOCAL, Origin.DATA)
LOCAL_MEAN = Rank(State.LOCAL, Origin.DATA, "mean")  # over a rank-local count, as a loss is
RANK_LOCAL = Rank(State.LOCAL, Origin.RANK)
CLOCK_LOCAL = Rank(State.LOCAL, Origin.CLOCK)
MEMORY_LOCAL = Rank(State.LOCAL, Origin.MEMORY)
RNG_LOCAL = Rank(State.LOCAL, Origin.RNG)
IO_LOCAL = Rank(State.LOCAL, Origin.IO)
ROOT_LOCAL = Rank(State.LOCAL, Origin.ROOT)


def partial(how: str, origins: Origin = Origin.DATA) -> Rank:
    """A local piece of the global reduction `how` (sum, mean, count, max, …)."""
    return Rank(State.PARTIAL, origins, how)


def join(a: Rank, b: Rank) -> Rank:
    """The fact where control flow merges: either of the two may be the value."""
    return a if a is b else _join(a, b)


@cache
def _join(a: Rank, b: Rank) -> Rank:
    if a == b or b.state is State.BOTTOM:
        return a
    if a.state is State.BOTTOM:
        return b
    if State.UNKNOWN in (a.state, b.state):
        if _is_setting(a, b):
            return SETTING
        return DRAWN if DRAWN in (a, b) and not (a.differs or b.differs) else UNKNOWN
    if a.state is State.SAME and b.state is State.SAME:
        return _OF_ROOT if a.is_of_root or b.is_of_root else SAME
    if (a.how == DEALT) is not (b.how == DEALT):
        return _join(of_elements(a), of_elements(b))
    origins = _differing_origins(a, b)
    if a.how == b.how:
        return Rank(a.state if a.state is b.state else State.LOCAL, origins, a.how)
    for piece, other in ((a, b), (b, a)):
        # An accumulator that no iteration of its loop has added to yet.
        if other == ZERO or (other.state is State.SAME and piece.how in AVERAGES):
            return Rank(State.LOCAL, origins, piece.how)
    return Rank(State.LOCAL, origins)


def _differing_origins(a: Rank, b: Rank) -> Origin:
    """Why the result of two facts differs, if one of them does."""
    return (a.origins | b.origins) if State.SAME not in (a.state, b.state) else max(a, b).origins


def _is_setting(a: Rank, b: Rank) -> bool:
    """Whether one of two facts is that of a setting, and the other cannot differ between ranks."""
    return a.is_uniform and b.is_uniform


def combine(a: Rank, b: Rank) -> Rank:
    """The fact of an element-wise operation on both: strongest of local > partial, shard > unknown > same."""
    return SAME if a is b is SAME else _combine(a, b)


@cache
def _combine(a: Rank, b: Rank) -> Rank:
    if a.state < b.state:
        a, b = b, a
    if b.state is State.BOTTOM:
        return b
    if a.state is State.SAME:
        if a.is_of_root or b.is_of_root:
            return REDUCED_TO_ONE
        return REDUCED if REDUCED in (a, b) else SAME
    if a.state is State.UNKNOWN:
        if a == AGREED and (b == AGREED or b.state is State.SAME):
            return AGREED
        return SETTING if _is_setting(a, b) else UNKNOWN
    origins = _differing_origins(a, b)
    if a.state is State.SHARD:
        return Rank(State.SHARD, origins)
    return Rank(State.LOCAL, origins)


@cache
def combine_linear(a: Rank, b: Rank) -> Rank:
    """Like `combine`, for `+` and `-`: partial results of the same reduction stay partial results of it."""
    if a.differs and b.differs and a.how == b.how and a.how in ADDITIVE:
        return Rank(max(a.state, b.state), a.origins | b.origins, a.how)
    for piece, other in ((a, b), (b, a)):
        # A mean may be shifted by a value that is the same on all ranks; in a sum, it would be added once per rank.
        if piece.differs and ((other == ZERO and piece.how) or (other.state is State.SAME and piece.how in AVERAGES)):
            return piece
    return combine(a, b)


@cache
def combine_scaling(a: Rank, b: Rank) -> Rank:
    """Like `combine`, for `*` and `/`: a partial sum or mean times a value that is the same stays one."""
    for piece, factor in ((a, b), (b, a)):
        if piece.differs and piece.how in SCALABLE and factor.state is State.SAME:
            return piece
    return combine(a, b)


def nonlinear(rank: Rank) -> Rank:
    """The fact after a function that does not commute with reductions (exp, abs, comparison)."""
    if not rank.how or rank.how == HAS_ROWS:
        return rank
    if rank.differs:
        return Rank(State.LOCAL, rank.origins)
    return SAME if rank == ZERO else rank


@cache
def compare(a: Rank, b: Rank) -> Rank:
    """The fact of a comparison. What only one rank has differs from rank to rank, compared with an unknown value."""
    if State.UNKNOWN in (a.state, b.state):
        a, b = a.as_condition, b.as_condition
    return nonlinear(combine(a, b))


# The number of this rank's elements that pass a test: `how` of the length of a container of these elements.
PICKED = "picked"


# The number of elements on the ranks that have any: `how` of the length of a container that is empty on the others.
HELD = "held"
HELD_BY_RANK = Rank(State.LOCAL, Origin.RANK, HELD)


# `how` of the number of iterations of a loop that is longer on the ranks for which a condition says so.
CHOSEN = "chosen"


# The number of rows that a rank gets of those that are dealt out: `how` of the length of its share, and of the share
# itself, if some ranks may get one more than others.
DEALT = "dealt"
DEALT_BY_RANK = Rank(State.LOCAL, Origin.RANK, DEALT)


# `how` of whether a rank has any rows of its own: as a rule, several ranks have some.
HAS_ROWS = "has rows"


# The length of a list with one element per rank, `[None] * world_size`: it is not empty.
PER_RANK = Rank(State.SAME, how="per rank")


# The length of a container that is empty, except in a run that goes on with an earlier one.
RESTORED = Rank(State.SAME, how="restored")


# `how` of a reduced value times this rank's number of samples, and of a sum of such products: what an average needs.
WEIGHTED = "weighted"


# `how` of a metric that a library has computed over this rank's samples.
METRIC = "metric"


def filtered(length: Rank, test: Rank) -> Rank:
    """The length of an iterable after its elements were filtered by a test."""
    if length.how == HELD:
        return length
    combined = combine(length, test)
    if test.differs:
        return Rank(State.LOCAL, combined.origins, PICKED)
    return length if length.how == "count" else combined


def weighted(a: Rank, b: Rank) -> Rank | None:
    """The fact of a product of a reduced value and this rank's number of samples; None for other products."""
    counted = next((each for each in (a, b) if each.differs and each.how == "count"), None)
    if counted is None or not (a.is_reduced or b.is_reduced or AGREED in (a, b)):
        return None
    return Rank(State.LOCAL, counted.origins, WEIGHTED)


def of_elements(rank: Rank) -> Rank:
    """The fact of an element of what differs between ranks in this way."""
    return Rank(rank.state, rank.origins) if rank.how == DEALT else rank


def of_length(rank: Rank) -> Rank:
    """The fact of the length of what differs between ranks in this way; each rank draws as much as the others."""
    if rank.origins == Origin.RNG:
        return SAME
    return rank if rank.how == DEALT else Rank(State.LOCAL, rank.origins)


def of_counts(rank: Rank, facts: Iterable[Rank]) -> Rank:
    """The fact of a number that depends only on how many samples this rank has."""
    differing = [each for each in facts if each.differs]
    if rank.differs and differing and all(each.how == "count" for each in differing):
        return Rank(State.LOCAL, rank.origins, "count")
    return rank


def join_lengths(a: Rank, b: Rank) -> Rank:
    """The fact of a container's length where control flow merges: one that grows with a count is a count."""
    if a is b:
        return a
    for one, other in ((a, b), (b, a)):
        if one.state is State.SAME and other.differs and other.how in ("count", DEALT):
            return other
    return join(a, b)


def grown(length: Rank, more: Rank) -> Rank:
    """The fact of a container's length after it got more elements, or lost some."""
    found = join_lengths(length, more)
    return SAME if found == PER_RANK else found


def combine_all(ranks: Iterable[Rank]) -> Rank:
    """`combine` over any number of operands; the same on all ranks when there are none."""
    result: Rank | None = None
    for rank in ranks:
        if result is None:
            result = rank
        elif rank is not result or rank.state is State.PARTIAL:
            result = combine(result, rank)
    return SAME if result is None else result


# The reductions under which partial results can be added up and scaled.
ADDITIVE = frozenset({"sum", "mean", "count", WEIGHTED})
# … under which they can be scaled, and under which a constant can be added.
SCALABLE = ADDITIVE | {"nanmean"}
AVERAGES = frozenset({"mean", "nanmean"})

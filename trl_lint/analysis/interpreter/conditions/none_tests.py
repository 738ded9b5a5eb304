"""`x is None`: whether ranks may answer it differently, which is another question than whether `x` differs.

For example:

    rank = get_rank() if args.several else None       a number on all ranks, or None on all
    writer = make_writer() if rank == 0 else None     None on some ranks
    self.dist = dist if size > 1 else None            there on all of several ranks
    sampler = DistributedSampler(rows)                so is this, and whoever asks means the number of processes
    part = parts[rank] if args.parts else None        contents of each rank, or None on all: not known
    loss = loss_of(model, batch)                      None on some ranks, if it returns None for a large loss
    target = target.to(device)                        there: None has no such method
    total(values, reduce=all_sum)                     `if reduce is not None`: there, as is every function
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain import ranks
from trl_lint.domain.constants import CREATED, MISSING, NONE_ON_SOME, PRESENT, WORLD_FALSE, WORLD_TRUE
from trl_lint.domain.derived import derived, presence_of
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.joins import CONTENTS_DIFFER
from trl_lint.domain.kinds import LibraryName, PathValue, flag
from trl_lint.domain.provenance import NoneWhere, Returned
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.torch_distributed import MODULE

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.project import Module

# Values of these kinds that depend on the rank exist on all ranks or on none, unless known to be None on some: a
# variable that the launcher sets, the number of the rank.
_ON_ALL_OR_NONE = frozenset({Kind.NUMBER, Kind.STRING, Kind.TENSOR})
# Values of these kinds do not differ by themselves: one that does is None on some ranks.
_SAME_UNLESS_NONE = frozenset(Kind) - CONTENTS_DIFFER
_DEFINITIONS = frozenset({Kind.BOUND, Kind.CLASS, Kind.FUNCTION})
_NEVER_NONE = frozenset({Kind.INSTANCE, Kind.MODEL, Kind.NUMBER, Kind.TENSOR})
# What is known of values of these kinds does not say whether they are None.
_MAY_BE_NONE = frozenset({Kind.BATCH, Kind.INSTANCE, Kind.TENSOR, Kind.UNKNOWN})


def present(value: Value) -> Value:
    """The result of something that returns no None."""
    is_open = value.const is MISSING and value.kind in _MAY_BE_NONE and value.rank.state is not State.BOTTOM
    return value.replace(const=PRESENT) if is_open else value


def is_defined(value: Value) -> bool:
    """Whether a value is a function, method or class, on all ranks."""
    is_open = value.const is MISSING and presence_of(value) is None and _none_where(value) is None
    return value.kind in _DEFINITIONS and is_open


def is_filled(value: Value) -> bool:
    """Whether a value is a path, or a text that has a part which is known, on all ranks: it is true on each of them."""
    if value.kind is not Kind.STRING or presence_of(value) is not None or _none_where(value) is not None:
        return False
    if type(value.const) is str:
        return value.const.strip(WILDCARD) != ""
    return value.const is CREATED or (isinstance(value, PathValue) and value.const is MISSING)


def questioned(value: Value) -> Value:
    """A value whose truth, length or part is asked for: of `tag + str(rank)`, these are mostly the same."""
    is_put_together = value.kind is Kind.STRING and type(value.const) is str and WILDCARD in value.const
    return value.replace(rank=ranks.UNKNOWN) if is_put_together and value.rank == ranks.RANK_LOCAL else value


def none_on_some(value: Value, module: Module, test: cst.CSTNode, rank: Rank) -> Value:
    """What a function returns that returns None where a test of this rank's own data holds; rank: that of the test."""
    text = "`{}` differs between ranks, and on some of them None is returned"
    return value.replace(provenance=NoneWhere(module, test, text, value.provenance, rank=rank))


def is_of_own_data(rank: Rank) -> bool:
    """Whether something differs between ranks by their data and random numbers, and by nothing else."""
    return rank.differs and not rank.origins & ~(Origin.DATA | Origin.RNG)


def _none_where(value: Value) -> NoneWhere | None:
    """Why a value is known to be None on some ranks, where it was assigned or in the function that returned it."""
    step = value.provenance
    while isinstance(step, Returned):
        step = step.before
    return step if isinstance(step, NoneWhere) else None


def answer(value: Value, negated: bool) -> Value:
    """The value of `value is None`, or (negated) of `value is not None`."""
    if value.const is None:
        return flag(not negated)
    is_text = type(value.const) is str and not value.rank.differs
    if is_text or value.const in (CREATED, PRESENT) or (isinstance(value, LibraryName) and value.name == MODULE):
        return flag(negated)
    if value.const is WORLD_TRUE and value.kind is Kind.INSTANCE and not value.rank.differs:
        return flag(WORLD_TRUE if negated else WORLD_FALSE)
    known = presence_of(value)
    if known is not None:
        return known
    if is_defined(value):
        return flag(negated)
    by_rank = value.rank.is_by_rank
    if by_rank and value.const is MISSING and value.kind in _ON_ALL_OR_NONE:
        return flag()
    if by_rank and value.const is MISSING and value.kind is Kind.UNKNOWN:
        return flag(rank=ranks.UNKNOWN)  # its contents differ, and whether it is there is not known
    if by_rank and (value.const is NONE_ON_SOME or (value.const is MISSING and value.kind in _SAME_UNLESS_NONE)):
        # Created on some ranks only: a tracker, a writer.
        return derived(ranks.nonlinear(value.rank), Kind.NUMBER, value, scalar=True, dtype="bool")
    lacking = _none_where(value)
    if lacking is not None:
        return derived(ranks.nonlinear(lacking.rank), Kind.NUMBER, value, scalar=True, dtype="bool")
    certain = value.const is MISSING and not (value.kind is Kind.INSTANCE and value.rank.state is State.UNKNOWN)
    if certain and value.kind in _NEVER_NONE:
        return flag()
    is_none = value.kind is Kind.NONE and value.rank.origins == Origin.RANK
    rank = value.rank if value.rank.state is State.UNKNOWN or is_none else ranks.SAME
    return derived(rank, Kind.NUMBER, value, scalar=True, dtype="bool")

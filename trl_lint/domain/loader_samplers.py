"""Which rows a loader goes through: the share of one order that a sampler gives each rank, or all of them.

>>> from types import SimpleNamespace as Call
>>> call = Call()
>>> sampler, none = ShufflingSampler(None, call), NoSampler(None, call)
>>> sampler == ShufflingSampler(None, call), sampler == ShufflingSampler(None, Call())
(True, False)
>>> either_sampler(none, sampler) is sampler, either_sampler(none, none) is none, either_sampler(none, None)
(True, True, None)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.domain.provenance import SourceModule
    from trl_lint.domain.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class ShufflingSampler:
    """The samplers that a call makes, which draw another order only in an epoch that they are told.

    in_loader: whether the call makes a loader that has such a sampler of its own.
    """

    module: SourceModule
    call: CSTNode
    in_loader: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShufflingSampler) and self.call is other.call

    def __hash__(self) -> int:
        return hash(id(self.call))


@dataclass(frozen=True, slots=True, eq=False)
class NoSampler:
    """That the loader which a call makes has no sampler: it goes through all rows, whichever rank it is on.

    data: what it loads, or what that is a part of. rows: the expression for what it loads. shuffles: whether it does;
    None if that is not known. function: the one with the call.
    """

    module: SourceModule
    call: CSTNode
    data: Value | None = None
    rows: CSTNode | None = None
    shuffles: bool | None = None
    function: object = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoSampler) and self.call is other.call

    def __hash__(self) -> int:
        return hash(id(self.call))


Sampling: TypeAlias = ShufflingSampler | NoSampler


def either_sampler(a: Sampling | None, b: Sampling | None) -> Sampling | None:
    """The sampler of a loader that is one of two; None if both have one, and not the same.

    That one of them has none says nothing if another may have one: programs make it for a single process.
    """
    if isinstance(a, NoSampler) or isinstance(b, NoSampler):
        if isinstance(a, NoSampler) and isinstance(b, NoSampler):
            return a
        return next((each for each in (a, b) if isinstance(each, ShufflingSampler)), None)
    return a or b if a is None or b is None or a == b else None

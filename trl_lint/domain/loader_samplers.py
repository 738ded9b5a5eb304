"""Samplers that give each rank its share of one order, which all ranks draw alike.

>>> from types import SimpleNamespace as Call
>>> call = Call()
>>> sampler = ShufflingSampler(None, call)
>>> sampler == ShufflingSampler(None, call), sampler == ShufflingSampler(None, Call())
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.domain.provenance import SourceModule


@dataclass(frozen=True, slots=True, eq=False)
class ShufflingSampler:
    """The samplers that a call makes, which draw another order only in an epoch that they are told."""

    module: SourceModule
    call: CSTNode

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShufflingSampler) and self.call is other.call

    def __hash__(self) -> int:
        return hash(id(self.call))


def either_sampler(a: ShufflingSampler | None, b: ShufflingSampler | None) -> ShufflingSampler | None:
    """The sampler of a loader that is one of two; None if both have one, and not the same."""
    return a or b if a is None or b is None or a == b else None

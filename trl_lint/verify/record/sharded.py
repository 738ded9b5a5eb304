"""The ranks' records of sharded tensors, each of its own parts, combined to those of whole tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from trl_lint.verify.record.traces import RankRecord, SourcePlace

# By the ranks that have the parts of some tensors (empty for whole ones): the norm over one rank's parts of them.
Shares: TypeAlias = "list[tuple[tuple[int, ...], float]]"


@dataclass(frozen=True, slots=True)
class NumberRead:
    """A number that the script has read from a DTensor.

    group: the ranks that have its parts, empty for the number of a whole tensor. how: how they are combined, a
    reduction or `norm 2`.
    """

    value: float
    how: str
    group: tuple[int, ...]
    at: tuple[SourcePlace, ...]


@dataclass(frozen=True, slots=True)
class CopyRead:
    """A rank's own part of a DTensor that the script has copied: `size` of `of` elements.

    logs: the number of logs before it.
    """

    norm: float
    sum: float
    size: int
    of: int
    group: tuple[int, ...]
    at: tuple[SourcePlace, ...]
    logs: int = 0


def put_together(ranks: Sequence[RankRecord]) -> None:
    """Give each rank the norms of the whole gradients and weights, if all ranks have recorded their parts."""
    by_number = {rank.number: rank for rank in ranks}
    norms = {rank.number: [_norm(rank, step, by_number) for step in range(len(rank.grad_shares))] for rank in ranks}
    weights = {rank.number: _weights(rank, by_number) for rank in ranks if rank.weight_shares}
    for rank in ranks:
        rank.grad_norms = [
            own if own is not None else norms[rank.number][step] for step, own in enumerate(rank.grad_norms)
        ]
        rank.weights = weights.get(rank.number, rank.weights)


def _norm(rank: RankRecord, step: int, ranks: Mapping[int, RankRecord]) -> float | None:
    """The norm of all gradients of a step; None if they are not sharded, or a part is missing."""
    squares = 0.0
    for group, own_norm in rank.grad_shares[step] or ():
        members = [_share(ranks.get(number), step, group) for number in group] or [own_norm]
        known = [each for each in members if each is not None]
        if len(known) < len(members):
            return None
        squares += sum(each**2 for each in known)
    return math.sqrt(squares) if rank.grad_shares[step] else None


def _share(rank: RankRecord | None, step: int, group: tuple[int, ...]) -> float | None:
    if rank is None or step >= len(rank.grad_shares):
        return None
    return dict(rank.grad_shares[step] or ()).get(group)


def _weights(rank: RankRecord, ranks: Mapping[int, RankRecord]) -> list[list[float]] | None:
    """Norm and sum of each whole parameter; None if a rank has not recorded its parts."""
    found = []
    for index, (group, own) in enumerate(zip(rank.weight_shares, rank.weights or (), strict=False)):
        members = [_part(ranks.get(number), index, group) for number in group] or [own]
        known = [each for each in members if each is not None]
        if len(known) < len(members):
            return None
        found.append([math.sqrt(sum(norm**2 for norm, _ in known)), sum(total for _, total in known)])
    return found or None


def _part(rank: RankRecord | None, index: int, group: tuple[int, ...]) -> list[float] | None:
    if rank is None or rank.weights is None or group not in rank.weight_shares[index : index + 1]:
        return None
    return rank.weights[index]

"""Metrics that are computed from this rank's parts of sharded tensors, and logged as those of whole tensors.

A part that a script copies with `to_local` may well be meant as a part, but a logged metric is not: if a metric is, log
by log, the norm, the sum or the mean of the parts that the rank copied before, and not of the whole tensors, it is
reported.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trl_lint.verify.oracles.logged_metrics import metrics_of
from trl_lint.verify.oracles.tolerance import BETWEEN_RUNS, as_text, is_same
from trl_lint.verify.record.sharded import CopyRead
from trl_lint.verify.record.traces import RankRecord, Run, SourcePlace

# The tolerance of a float32 norm summed in another order. With many tensors compared, none should match by chance.
SAME_NUMBER = 2e-6


@dataclass(frozen=True, slots=True)
class PartNumber:
    """A number of a part, used as the whole tensor's. whole: None unless all ranks have recorded their parts."""

    at: SourcePlace
    values: Mapping[int, float]
    whole: float | None
    metric: str = ""

    def __str__(self) -> str:
        each = ", ".join(f"rank {rank} has {as_text(value)}" for rank, value in sorted(self.values.items()))
        said = f"of the whole it is {as_text(self.whole)}" if self.whole is not None else "the others don't read it"
        return f"{f'{self.metric}, logged: ' if self.metric else ''}{each}; {said} [{self.at}]"


@dataclass(frozen=True, slots=True)
class _Copies:
    """A rank's copies of some tensors, and the same of all ranks that have parts of them (None if unknown)."""

    own: CopyRead
    whole: CopyRead | None


def logged(run: Run) -> Iterator[PartNumber]:
    """The metrics that are those of a rank's own parts."""
    known = metrics_of(run)
    ranks = {rank.number: rank for rank in run.ranks}
    for rank in run.ranks if any(rank.copies_read for rank in run.ranks) else ():
        found: dict[tuple[str, str], list[PartNumber | None]] = defaultdict(list)
        taken: list[_Copies] = []
        batches = _batches(rank, ranks)
        for index, log in enumerate(rank.logs):
            taken = batches.get(index, taken)
            for name, value in log.values.items():
                if (log.sink, name) in known:
                    found[log.sink, name].append(_part(rank.number, name, value, taken))
        yield from (parts[0] for parts in found.values() if parts[0] is not None and all(parts))


def _batches(rank: RankRecord, ranks: Mapping[int, RankRecord]) -> dict[int, list[_Copies]]:
    """By the number of logs before them, the copies of a rank."""
    places = {number: _by_place(each) for number, each in ranks.items()}
    counts: dict[SourcePlace, int] = defaultdict(int)
    batches: dict[int, list[_Copies]] = defaultdict(list)
    for copy in rank.copies_read:
        same = [places[number][copy.at[0]][counts[copy.at[0]] :][:1] for number in copy.group if number in places]
        counts[copy.at[0]] += 1
        members = [each for found in same for each in found if each.group == copy.group]
        whole = _sum(members) if len(members) == len(copy.group) else None
        batches[copy.logs].append(_Copies(copy, whole))
    return {
        logs: [*each, *([_Copies(_sum([copies.own for copies in each]), _all(each))] if len(each) > 1 else ())]
        for logs, each in batches.items()
    }


def _by_place(rank: RankRecord) -> dict[SourcePlace, list[CopyRead]]:
    found: dict[SourcePlace, list[CopyRead]] = defaultdict(list)
    for each in rank.copies_read:
        found[each.at[0]].append(each)
    return found


def _all(copies: Sequence[_Copies]) -> CopyRead | None:
    wholes = [each.whole for each in copies if each.whole is not None]
    return _sum(wholes) if len(wholes) == len(copies) else None


def _sum(parts: Sequence[CopyRead]) -> CopyRead:
    """Several parts combined."""
    norm = math.sqrt(sum(each.norm**2 for each in parts))
    size, of = sum(each.size for each in parts), sum(each.of for each in parts)
    return CopyRead(norm, sum(each.sum for each in parts), size, of, parts[0].group, parts[0].at, parts[0].logs)


def _part(rank: int, name: str, value: float, candidates: Sequence[_Copies]) -> PartNumber | None:
    """The part that a logged value is computed from, if it is one and not the whole."""
    for copies in candidates:
        numbers = _numbers(copies.own)
        wholes = _numbers(copies.whole) if copies.whole else [None] * len(numbers)
        for own, whole in zip(numbers, wholes, strict=True):
            is_part = copies.own.size < copies.own.of if whole is None else not is_same(own, whole, BETWEEN_RUNS)
            if value and is_part and is_same(value, own, SAME_NUMBER):
                return PartNumber(copies.own.at[0], {rank: value}, whole, name)
    return None


def _numbers(copy: CopyRead) -> list[float]:
    """Norm, its square, sum and mean."""
    return [copy.norm, copy.norm**2, copy.sum, copy.sum / max(copy.size, 1)]

"""*whole parameters*: what the script reads from a sharded tensor is the value of the whole tensor.

FSDP 2 turns each parameter and gradient into a DTensor. A norm or a sum of it returns the number of the rank's own
part, silently. Here the numbers that the ranks read at the same line are combined as the DTensor itself would have done
it, and each rank's number is compared with that. A local copy (`to_local`) may well be meant as a part: it is judged
only by what is then logged (`local_copies.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from trl_lint.reports import many
from trl_lint.verify.oracles import local_copies
from trl_lint.verify.oracles.local_copies import PartNumber
from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, is_same, mean
from trl_lint.verify.record.sharded import NumberRead
from trl_lint.verify.record.traces import Run, SourcePlace
from trl_lint.verify.record.verdicts import Verdict, failed, passed

ORACLE = "whole parameters"
# How the numbers of parts are combined; in addition to norms.
TOGETHER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "avg": mean,
    "max": max,
    "min": min,
    "product": math.prod,
}
# The greatest number of lines that are shown.
MOST_SHOWN = 8


def judge(run: Run) -> Verdict | None:
    """Whether all reads of sharded tensors have the value of the whole ones; None if there were none."""
    count = max((len(rank.numbers_read) + len(rank.copies_read) for rank in run.ranks), default=0)
    if not count:
        return None
    found = [*_numbers(run), *local_copies.logged(run)]
    if not found:
        return passed(ORACLE, f"{many(count, 'read')} of sharded tensors, none taken for the whole one's")
    by_place = {(part.at, part.metric): part for part in reversed(found)}  # the first one of each line
    lines = [str(part) for part in reversed(by_place.values())]
    return failed(
        ORACLE,
        "part",
        f"{many(len(by_place), 'number')} of this rank's part alone, taken for the whole tensor's",
        lines[:MOST_SHOWN],
        at=[str(found[0].at)],
    )


def _numbers(run: Run) -> Iterator[PartNumber]:
    """The numbers of DTensors, read by read at each line."""
    reads: dict[tuple[SourcePlace, tuple[int, ...], int], dict[int, NumberRead]] = defaultdict(dict)
    for rank in run.ranks:
        counts: dict[tuple[SourcePlace, tuple[int, ...]], int] = defaultdict(int)
        for read in rank.numbers_read:
            key = (read.at[0], read.group)
            if read.group:
                reads[(*key, counts[key])][rank.number] = read
            counts[key] += 1
    for (at, group, _), by_rank in reads.items():
        values = {rank: read.value for rank, read in by_rank.items()}
        if len(values) < len(group):
            if any(values.values()):  # zeros may be correct
                yield PartNumber(at, values, None)
            continue
        whole = _combined({read.how for read in by_rank.values()}, list(values.values()))
        if whole is not None and not all(is_same(value, whole, BETWEEN_RANKS) for value in values.values()):
            yield PartNumber(at, values, whole)


def _combined(hows: set[str], values: Sequence[float]) -> float | None:
    """The number of the whole tensor; None if it is unknown how to combine the parts."""
    how = next(iter(hows)) if len(hows) == 1 else ""
    if how in TOGETHER:
        return TOGETHER[how](values)
    kind, _, order = how.partition(" ")
    if kind != "norm":
        return None
    power = float(order)
    return max(values) if math.isinf(power) else sum(value**power for value in values) ** (1 / power)

"""*true value* if a script trains differently on one process: one more run, under control.

Dropout, unseeded draws, shuffled loaders, uneven last batches, or a loss that is each rank's mean over its own tokens
make one process train differently, so that its metrics are not comparable. In a controlled run (`rank/controlled.py`)
the weights change in the same way whatever the data are, and one process reads the rows that all ranks read
(`rank/dealing.py`). A metric then depends only on who computes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Protocol, TypeAlias

from trl_lint.verify.oracles import controlled
from trl_lint.verify.oracles.true_value import ORACLE
from trl_lint.verify.record.traces import RankRecord, Run
from trl_lint.verify.record.verdicts import Verdict, unknown

# By data set, and by the number of the pass over it, the rows of each batch, in the format of `rank/dealing.py`.
Dealt: TypeAlias = dict[str, dict[str, list[list[int]]]]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a controlled run.

    seed: the seed of the generators once data are read. rows: the file with the rows that each rank reads ("" for those
    of its samplers).
    """

    seed: int = 0
    rows: str = ""


class RunControlled(Protocol):
    """Runs a subject under control. alone: as one process, in a group of one if `grouped`."""

    def __call__(self, label: str, conditions: Conditions, *, alone: bool = False, grouped: bool = False) -> Run: ...


@dataclass
class Reference:
    """One process under control, by the rows that it reads: what it computes is the true value.

    start: runs the unchanged program. A fixed copy is compared with the same numbers.
    """

    start: RunControlled
    folder: Path
    known: dict[str, Run] = field(default_factory=dict)

    def of(self, run: Run) -> Run:
        """The one process that reads what the ranks of a run have read together."""
        rows = [_global_batches(run)]
        key = json.dumps(rows)
        if key not in self.known:
            file = written(self.folder, f"rows-{len(self.known)}", rows)
            found = self.start("one process, controlled", Conditions(rows=file), alone=True)
            if not all(rank.ended_well for rank in found.ranks):  # it may need a process group
                found = self.start("one process, controlled", Conditions(rows=file), alone=True, grouped=True)
            self.known[key] = found
        return self.known[key]


def true_value(
    start: RunControlled,
    label: str,
    reference: Reference,
    is_own: Callable[[str], bool],
    unsteady: frozenset[tuple[str, str]],
) -> Verdict:
    """Whether the metrics that rank 0 logs are those of one process, all of them run under control.

    start: runs the program that is judged. If one process is not comparable, its metrics must not change when the same
    global batches are distributed to the ranks in another way. unsteady: metrics that vary between runs.
    """
    folder = reference.folder
    run = start(f"{label}, controlled", Conditions())
    run.unsteady = unsteady
    if not all(rank.ended_well for rank in run.ranks):
        return unknown(ORACLE, "a controlled run does not end")
    if controlled.has_data_of_each_rank(run):
        return unknown(ORACLE, "one process can't be compared: each rank has data of its own")

    def doubled() -> Run:
        file = written(folder, f"{label}-doubled", [_doubled(rank) for rank in run.ranks])
        return start(f"{label}, rows doubled", Conditions(1, file))

    single = reference.of(run)
    reason = controlled.not_comparable(run, single)
    if not reason:
        return controlled.judge(run, single, doubled, is_own)
    others = _redistributed(run)
    if others is None:
        return unknown(ORACLE, f"one process can't be compared: {reason}")
    file = written(folder, f"{label}-otherwise", others)
    return controlled.judge_dealt(
        run, start(f"{label}, dealt otherwise", Conditions(rows=file)), doubled, is_own, reason
    )


def written(folder: Path, name: str, rows: list[Dealt]) -> str:
    """Write the file with the rows that each rank reads."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name.replace(' ', '-')}.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    return str(file)


def _passes(rank: RankRecord) -> Mapping[tuple[int, int], list[list[int]]]:
    """By pass over a data set, the rows of a rank's batches, if all of them are known."""
    return {
        key: [rows for rows in batches if rows is not None]
        for key, batches in rank.dealt.items()
        if all(rows is not None for rows in batches)
    }


def _global_batches(run: Run) -> Dealt:
    """The rows of all ranks, batch by batch; outside of training, a row that fills up the last batch counts once."""
    dealt: Dealt = {}
    passes = [_passes(rank) for rank in run.ranks]
    for data_set, times in sorted(set.intersection(*(set(each) for each in passes))):
        each = zip_longest(*(of_rank[data_set, times] for of_rank in passes), fillvalue=())
        batches = [[row for rows in batch for row in rows] for batch in each]
        if not any(data_set in rank.trained for rank in run.ranks):
            batches = _once(batches)
        dealt.setdefault(str(data_set), {})[str(times)] = batches
    return dealt


def _once(batches: list[list[int]]) -> list[list[int]]:
    seen: set[int] = set()
    found = []
    for batch in batches:
        found.append([row for row in dict.fromkeys(batch) if row not in seen])
        seen.update(batch)
    return [batch for batch in found if batch]


def _doubled(rank: RankRecord) -> Dealt:
    """A rank's own batches with each row twice."""
    dealt: Dealt = {}
    for (data_set, times), batches in _passes(rank).items():
        dealt.setdefault(str(data_set), {})[str(times)] = [[*batch, *batch] for batch in batches]
    return dealt


def _redistributed(run: Run) -> list[Dealt] | None:
    """The batches of all ranks together, distributed in turn; None if that changes nothing.

    This excludes evaluation data, whose last batch is filled up and truncated again.
    """
    passes = [_passes(rank) for rank in run.ranks]
    dealt: list[Dealt] = [{} for _ in passes]
    changed = False
    for data_set, times in sorted(set.intersection(*(set(each) for each in passes))):
        if not all(data_set in rank.trained for rank in run.ranks):
            continue
        for batch in zip(*(of_rank[data_set, times] for of_rank in passes), strict=False):
            together = [row for rows in batch for row in rows]
            shares = [together[number :: len(passes)] for number in range(len(passes))]
            if min(map(len, batch)) < 2:  # single rows can only be given to other ranks
                shares = shares[1:] + shares[:1]
            changed = changed or shares != [list(rows) for rows in batch]
            for of_rank, share in zip(dealt, shares, strict=True):
                of_rank.setdefault(str(data_set), {}).setdefault(str(times), []).append(share)
    return dealt if changed else None

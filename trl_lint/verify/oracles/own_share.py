"""*own share*: no two ranks train on the same rows.

DDP averages the gradients of its ranks. If each rank reads all of the data, or in a random order of its own, some rows
count twice and others not at all, without any error.

The rows are compared that went into the model in the first pass over the data, without its last batch, which samplers
fill up with rows from the beginning. Later passes are distributed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from trl_lint.reports import many
from trl_lint.verify.record.traces import RankRecord, Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "own share"
# With fewer rows there is no verdict; if only a few are equal on two ranks, the data may contain duplicates.
FEWEST_ROWS = 4
FEWEST_SHARED = 10
# The share of rows that two ranks may have in common, and the share of equal rows on one rank. Rows that are equal on
# one rank are so on two as well, and more often.
MOST_SHARED = 0.1
MOST_ALIKE = 0.1
BY_CHANCE = 4


def judge(run: Run) -> Verdict:
    """Whether each rank trains on different rows."""
    if len(run.ranks) < 2:
        return unknown(ORACLE, "there is one rank only")
    if not all(rank.share for rank in run.ranks):
        return unknown(ORACLE, "no rows that are trained on through DDP")
    firsts = {rank.number: _first_pass(rank) for rank in run.ranks}
    if min(map(len, firsts.values())) < FEWEST_ROWS:
        return unknown(ORACLE, "too few rows that are trained on")
    total = sum(map(len, firsts.values()))
    duplicates = max(1 - len(set(rows)) / len(rows) for rows in firsts.values())
    if duplicates > MOST_ALIKE:
        return unknown(ORACLE, "rows of the data are alike")
    evidence = [f"{many(total, 'row')} in the first pass, {len(set().union(*firsts.values()))} of them different ones"]
    if all(rows == firsts[run.ranks[0].number] for rows in firsts.values()):
        message = f"all {len(firsts)} ranks train on the same rows in the same order"
        return failed(ORACLE, "same rows", message, evidence)
    worst = max(combinations(firsts, 2), key=lambda pair: _shared(firsts, *pair))
    shared = _shared(firsts, *worst)
    if shared <= MOST_SHARED + duplicates:
        return passed(ORACLE, f"each rank trains on rows of its own, of {many(total, 'row')}")
    if shared <= MOST_SHARED + BY_CHANCE * duplicates:
        return unknown(ORACLE, "rows of the data are alike, on one rank as on several")
    if min(map(len, firsts.values())) < FEWEST_SHARED:
        return unknown(ORACLE, "rows of several ranks are alike, of few that are trained on")
    if not all(share.passes for rank in run.ranks for share in rank.share):
        return unknown(ORACLE, "what one pass over the data is can't be told")
    message = f"ranks {worst[0]} and {worst[1]} train on {shared:.0%} of their rows both"
    return failed(ORACLE, "overlap", message, evidence, shared=shared)


def _first_pass(rank: RankRecord) -> Sequence[str]:
    """The rows of a rank's first pass over the data, without the last batch."""
    batches = [share.rows for share in rank.share if share.passes == rank.share[0].passes]
    return [row for batch in batches[:-1] or batches for row in batch]


def _shared(firsts: dict[int, Sequence[str]], one: int, other: int) -> float:
    """The number of rows that two ranks have in common, as a share of those of the rank with fewer."""
    ours, theirs = set(firsts[one]), set(firsts[other])
    return len(ours & theirs) / min(len(ours), len(theirs))

"""*same sequence*: the members of a group run the same collectives in the same order, with matching shapes.

The kind, the reduction, the data type and, if it must be the same on all ranks, the shape are compared. The line that
calls a collective may differ: `if main: broadcast(value)`, `else: broadcast(empty)` is correct.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from trl_lint.verify.oracles import divergence
from trl_lint.verify.oracles.termination import where
from trl_lint.verify.record.traces import Call, NativeCall, RankRecord, Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "same sequence"
# Collectives whose shape may differ between ranks: sizes are exchanged, or differ by design.
ANY_SHAPE = frozenset({"all_to_all", "all_to_all_single", "reduce_scatter", "scatter", "new_group"})
# The capacity of the flight recorder; in longer runs the windows of the ranks may differ.
MOST_KEPT = 2000
World = None


def judge(run: Run, *, cut_short: bool = False) -> Verdict:
    """Whether all ranks ran the same collectives. `cut_short`: some ended early, for a known reason."""
    if len(run.ranks) < 2:
        return unknown(ORACLE, "there is one rank only")
    groups = {call.group for rank in run.ranks for call in rank.calls}
    for group in sorted(groups, key=lambda each: each or ()):
        difference = _compare(run, group, cut_short)
        if difference is not None:
            return difference
    if not groups and not any(rank.native for rank in run.ranks):
        return unknown(ORACLE, "no collective was called")
    difference_of_native = None if cut_short else _compare_native(run)
    return difference_of_native or passed(ORACLE, _counted(run), calls=[len(rank.calls) for rank in run.ranks])


def _counted(run: Run) -> str:
    counts = {len(rank.calls) for rank in run.ranks}
    number = counts.pop() if len(counts) == 1 else "up to " + str(max(counts))
    own = max((len(rank.native or ()) for rank in run.ranks), default=0)
    return f"{number} collectives on each rank" + (f", and {own} of DDP's own" if own else "")


def _compare(run: Run, group: tuple[int, ...] | None, cut_short: bool) -> Verdict | None:
    members = {
        rank.number: [call for call in rank.calls if call.group == group]
        for rank in run.ranks
        if group is World or rank.number in group
    }
    index = first_difference(members, cut_short)
    if index is None:
        return None
    calls = {number: calls[index] if index < len(calls) else None for number, calls in members.items()}
    ranks = {rank.number: rank for rank in run.ranks}
    lines, data = divergence.evidence_of(run)
    whose = "" if group is World else f" of the group {list(group)}"
    return failed(
        ORACLE,
        "sequence",
        f"the ranks diverge at collective no. {index + 1}{whose}",
        [*(_describe(ranks[number], call) for number, call in calls.items()), *_earlier(members, index), *lines],
        index=index,
        calls={number: str(call) if call else None for number, call in calls.items()},
        at={number: str(call.at[0]) if call and call.at else None for number, call in calls.items()},
        **data,
    )


def _earlier(members: Mapping[int, Sequence[Call]], end: int) -> list[str]:
    """Where, before they diverge, ranks called a collective at different lines: the wrong calls were matched."""
    for index in range(end):
        places = {number: calls[index].at[:1] for number, calls in members.items()}
        if len(set(places.values())) > 1:
            each = "; ".join(f"rank {number} at {', '.join(map(str, at))}" for number, at in places.items())
            return [f"before that, no. {index + 1} was asked for at different lines: {each}"]
    return []


def first_difference(members: Mapping[int, Sequence[Call]], cut_short: bool) -> int | None:
    """The index of the first call in which the ranks do not agree."""
    longest = max(map(len, members.values()), default=0)
    for index in range(longest):
        kinds = {_kind(calls[index]) for calls in members.values() if index < len(calls)}
        missing = any(index >= len(calls) for calls in members.values())
        if len(kinds) > 1 or (missing and not cut_short):
            return index
    return None


def _kind(call: Call) -> tuple[str | None, ...]:
    shape = None if call.name in ANY_SHAPE else str(call.shape)
    return (call.name, call.op, call.dtype, shape)


def _describe(rank: RankRecord, call: Call | None) -> str:
    if call is None:
        return f"{where(rank)}: never gets there"
    at = ", called from ".join(map(str, call.at))
    return f"rank {rank.number}: {call} at {at}"


def _compare_native(run: Run) -> Verdict | None:
    """The same for collectives not called from Python, group by group, if all ranks have recorded them."""
    if any(rank.native is None or rank.native_total >= MOST_KEPT for rank in run.ranks):
        return None
    groups = {call.group for rank in run.ranks for call in rank.native or ()}
    for group in sorted(groups, key=lambda each: each or ()):
        members = {
            rank.number: [call for call in rank.native or () if call.group == group]
            for rank in run.ranks
            if group is World or rank.number in group
        }
        if len({str([(call.name, call.shapes) for call in calls]) for calls in members.values()}) > 1:
            return _native_difference(run, group, members)
    return None


def _native_difference(run: Run, group: tuple[int, ...] | None, members: Mapping[int, Sequence[NativeCall]]) -> Verdict:
    """Where the members of a group diverge in the collectives of DDP, and how many each has issued."""
    calls = list(members.values())
    same = itertools.takewhile(lambda each: len({str(call) for call in each}) == 1, zip(*calls, strict=False))
    index = sum(1 for _ in same)
    firsts = {
        number: f", no. {index + 1}: {_describe_native(each[index])}"
        for number, each in members.items()
        if each[index:]
    }
    whose = "" if group is World else f" of the group {list(group)}"
    counts = {number: len(each) for number, each in members.items()}
    lines, data = divergence.evidence_of(run)
    return failed(
        ORACLE,
        "sequence",
        f"the ranks diverge in collectives{whose} that no call stands behind (DDP's own)",
        [*(f"rank {number}: {count} of them{firsts.get(number, '')}" for number, count in counts.items()), *lines],
        calls=counts,
        **data,
    )


def _describe_native(call: NativeCall) -> str:
    return f"{call} at {', called from '.join(map(str, call.at))}" if call.at else str(call)

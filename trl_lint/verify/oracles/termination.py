"""*ends*: every rank runs to its end. If one does not, the first cause is distinguished from its consequences.

When one rank fails, the others lose their connection to it or are stopped by torchrun: these are echoes. The cause is
the first failure among the rest. If ranks time out in a collective that not all of them have reached, the verdict is a
hang, and says where each rank waits.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence

from trl_lint.verify.oracles import divergence
from trl_lint.verify.record.trace_files import last_line
from trl_lint.verify.record.traces import RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import INTERRUPTED, Outcome, Verdict, failed, passed

ORACLE = "ends"

# Messages of a rank that lost another one (torch 2.13, gloo and nccl; see torch/csrc/distributed/c10d).
ECHOES = re.compile(
    r"Connection reset by peer|Connection closed by peer|Broken pipe|pair closure|Software caused connection abort"
    r"|ncclRemoteError|remote process exited|Connection refused|recvValueWithTimeout|failed to recv|connectFullMesh"
)
# Messages of a rank that timed out. They occur together with those of an echo, as the connection is closed after that.
TIMEOUTS = re.compile(
    r"Timed out waiting|Application timeout|timed out after|Watchdog caught collective operation timeout"
    r"|wait timeout|Socket Timeout|timeout after \d+|DistStoreError",
    re.IGNORECASE,
)
# Exceptions of a process group. Others are the script's own, whatever their message: a slow server, for example.
GROUP_ERRORS = frozenset({"RuntimeError", "DistError", "DistBackendError", "DistNetworkError", "DistStoreError"})
# Ends that Python can't report itself, by signal.
KILLED = {signal.SIGKILL: "killed (out of memory, as a rule)", signal.SIGSEGV: "a segmentation fault in C++"}


def judge(run: Run) -> Verdict:
    """Whether every rank ran to its end, and if not, why."""
    if run.stopped == INTERRUPTED:
        return Verdict(ORACLE, Outcome.UNKNOWN, f"the run was {run.stopped}", tuple(map(where, run.ranks)))
    if run.stopped:
        return failed(ORACLE, "stopped", f"the run was {run.stopped}", [where(rank) for rank in run.ranks])
    bad = [rank for rank in run.ranks if not rank.ended_well]
    if not bad:
        return passed(ORACLE, f"all {len(run.ranks)} ranks ran to their end")
    causes = sorted(filter(_is_cause, bad), key=_time)
    waiting = sorted(filter(_waited if run.stuck else _gave_up, bad), key=_time)
    if waiting and not (causes and _time(causes[0]) < _time(waiting[0])):
        return _left_early(run, bad) if any(_is_waited_for(rank, waiting) for rank in run.ranks) else _hang(run)
    if not causes:
        return _left_early(run, bad)
    first = causes[0]
    same = sorted((rank for rank in causes if _message(rank) == _message(first)), key=lambda rank: rank.number)
    others = [rank for rank in bad if rank not in same]
    return failed(
        ORACLE,
        _kind_of_end(first),
        f"{_named(same)}: {_message(first)}",
        [_found(first), *(f"{_named([rank])}: {_echo(rank)}" for rank in others)],
        ranks=sorted(rank.number for rank in same),
        error=first.end.error if first.end else "",
        said=_message(first),
        at=[str(place) for place in _at(first)],
    )


def _kind_of_end(rank: RankRecord) -> str:
    if rank.end is not None and rank.end.error:
        return "exception"
    if rank.end is not None or (rank.exit or 0) >= 0:
        return "exit"
    return "abort" if rank.exit in (-signal.SIGABRT, -signal.SIGSEGV) else "killed"


def _message(rank: RankRecord) -> str:
    """The reason why a rank died, in one line."""
    if rank.end is not None:
        text = rank.end.message or ("" if rank.end.error else last_line(rank.output)[:300])
        return ": ".join(filter(None, (rank.end.error or f"exit status {rank.end.status}", text)))
    if rank.aborted is not None:
        return f"abort in C++ (exit {rank.exit}), no Python traceback: {rank.aborted[0]}: {rank.aborted[1]}"
    if rank.exit is not None and rank.exit < 0:
        number = signal.Signals(-rank.exit)
        return f"{KILLED.get(number, 'ended by a signal')} (exit {rank.exit}, {number.name})"
    return f"the process ended with status {rank.exit} before its script did"


def _waited(rank: RankRecord) -> bool:
    return rank.pending is not None or rank.synchronises


def _gave_up(rank: RankRecord) -> bool:
    return TIMEOUTS.search(_group_words(rank)) is not None


def _group_words(rank: RankRecord) -> str:
    """The message of a rank's process group when the rank ended."""
    if rank.end is not None:
        is_groups = rank.pending is not None and rank.end.error in GROUP_ERRORS
        return rank.end.message if is_groups else rank.end.group
    if rank.aborted is not None:
        return " ".join(rank.aborted)
    return rank.output[-20_000:] if rank.exit == -signal.SIGABRT else ""


def _is_cause(rank: RankRecord) -> bool:
    """Whether a rank failed by itself."""
    if _was_stopped(rank):
        return False
    return not (_gave_up(rank) or ECHOES.search(_group_words(rank)))


def _was_stopped(rank: RankRecord) -> bool:
    """Whether a rank was stopped because another one failed, maybe before that was recorded."""
    return rank.end is None and (rank.asked_to_stop or rank.exit is None)


def _is_waited_for(rank: RankRecord, waiting: Iterable[RankRecord]) -> bool:
    """Whether a rank has already ended for which the timed out ranks wait."""
    groups = [other.pending.group if other.pending else None for other in waiting]
    return rank.ended_well and any(group is None or rank.number in group for group in groups)


def _time(rank: RankRecord) -> float:
    return rank.end.time if rank.end is not None else rank.exit_time


def _at(rank: RankRecord) -> tuple[SourcePlace, ...]:
    if rank.end is not None and rank.end.at:
        return rank.end.at
    return rank.pending.at if rank.pending else rank.stack


def _found(rank: RankRecord) -> str:
    return f"at {_path(_at(rank))}" if _at(rank) else where(rank)


def _hang(run: Run) -> Verdict:
    lines, data = divergence.evidence_of(run)
    return failed(
        ORACLE,
        "hang",
        "not all ranks reach the same collective: they wait for each other until the time is up",
        [*map(where, run.ranks), *_slow(run), *lines],
        waits={rank.number: [str(place) for place in _place(rank)] for rank in run.ranks},
        **data,
    )


def _slow(run: Run) -> list[str]:
    """A rank that does not wait may be computing."""
    busy = [rank for rank in run.ranks if _was_stopped(rank) and not _waited(rank)]
    return [f"if {_named(busy)} was at work there, --timeout was too short for it"] if busy else []


def _left_early(run: Run, bad: Sequence[RankRecord]) -> Verdict:
    """No rank failed, yet one lost its connection: another one ended while others still waited for it."""
    ended = [rank for rank in run.ranks if rank.ended_well]
    summary = (
        f"{_named(ended)} ended while others still had collectives to run" if ended else "the ranks lost each other"
    )
    lines, data = divergence.evidence_of(run)
    evidence = [*map(where, [*ended, *bad]), *lines]
    return failed(ORACLE, "left early", summary, evidence, ranks=[rank.number for rank in ended], **data)


def where(rank: RankRecord) -> str:
    """Where a rank is, or how it ended."""
    if rank.ended_well:
        at = f", at {_path(rank.end.at)}" if rank.end and rank.end.at else ""
        return f"rank {rank.number}: ended after {len(rank.calls)} collectives{at}"
    place = _place(rank)
    at = f" at {_path(place)}" if place else ""
    if rank.pending is not None:
        return f"rank {rank.number}: waits in its collective no. {len(rank.calls)}, {rank.pending}{at}"
    if not at and rank.calls:
        at = f", the last one at {_path(rank.calls[-1].at)}"
    return f"rank {rank.number}: in no collective of its own, after {len(rank.calls)} of them{at}"


def _place(rank: RankRecord) -> tuple[SourcePlace, ...]:
    """Where a rank waits: in a collective, where its exception came from, or where it was stopped."""
    if rank.pending is not None:
        return rank.pending.at
    return rank.end.at if rank.end is not None else rank.stack


def _path(stack: Sequence[SourcePlace]) -> str:
    """The line that asked, and the user's line that led to it."""
    return ", called from ".join(map(str, stack)) or "a place unknown"


def _echo(rank: RankRecord) -> str:
    if rank.ended_well:
        return "ended well"
    if _was_stopped(rank):
        return "was stopped by torchrun (an echo)"
    return f"{_message(rank)} ({'an echo' if not _is_cause(rank) else 'later'})"


def _named(ranks: Iterable[RankRecord]) -> str:
    numbers = [str(number) for number in sorted(rank.number for rank in ranks)]
    return f"rank {numbers[0]}" if len(numbers) == 1 else f"ranks {', '.join(numbers)}"

"""Detects when the ranks of a run wait for each other in vain, while they run.

A late rank is no bug: its share of the work, or a preparation that the others wait for, may take long. So a run does
not end because of a timeout in a collective. It is stuck if

- all its ranks are in collectives, or in the gradient synchronisation of a backward pass, and no two of them can match;
- or some wait there for others that are elsewhere and idle, for as long as `patience`.

A rank that computes is waited for, however long that takes.

Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import RankRecord, Run, read_run

# Seconds between two checks.
LOOK_SECONDS = 0.5
# Seconds for messages under way: if no two ranks can match, nothing else can happen after that.
SURE_SECONDS = 2.0
# The share of a processor that a process may use while it waits: some poll now and then.
IDLE_SHARE = 0.05
# State letters of a thread that runs, or waits for a processor or for a disk.
_AT_WORK = (["R"], ["D"])


class Watch:
    """Checks the traces of one run whenever it is called. patience: see above, in seconds."""

    def __init__(self, job: Job, nproc: int, patience: float) -> None:
        self._job = job
        self._nproc = nproc
        self._patience = patience
        self._next = 0.0
        self._since = time.monotonic()
        self._size = -1
        self._used = 0.0

    def is_stuck(self) -> bool:
        """Whether the ranks wait for each other in vain."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + LOOK_SECONDS
        size = sum(path.stat().st_size for path in Path(self._job.traces).glob("rank*.jsonl"))
        if size != self._size:
            self._size, self._since = size, now
            return False
        run = read_run(Path(self._job.traces), self._job.user_files, is_over=False)
        waiting = [rank for rank in run.ranks if _waits(rank)]
        can_continue = [rank for rank in waiting if can_complete(rank, run)]
        others = [rank for rank in run.ranks if not _is_over(rank) and (rank.pending is None or rank in can_continue)]
        has_failed = any(rank.end is not None and rank.end.status for rank in run.ranks)  # the others will be stopped
        if len(run.ranks) < self._nproc or not waiting or has_failed or self._are_at_work(others):
            self._since = now
            return False
        is_sure = not can_continue and all(map(_waits, others))
        return now - self._since >= (min(SURE_SECONDS, self._patience) if is_sure else self._patience)

    def _are_at_work(self, ranks: Sequence[RankRecord]) -> bool:
        """Whether the processes of some ranks compute, or have since the last check."""
        found = [activity(rank.process) for rank in ranks if rank.process]
        used, before = sum(seconds for seconds, _ in found), self._used
        self._used = used
        return any(at_work for _, at_work in found) or used - before > IDLE_SHARE * LOOK_SECONDS


def _is_over(rank: RankRecord) -> bool:
    return rank.end is not None or rank.exit is not None


def _waits(rank: RankRecord) -> bool:
    return not _is_over(rank) and (rank.pending is not None or rank.synchronises)


def can_complete(rank: RankRecord, run: Run) -> bool:
    """Whether all members of the group are in the collective that a rank waits in, so that it can complete."""
    if rank.pending is None:
        return False
    group = rank.pending.group
    reached = {_reached(each, group) for each in run.ranks if group is None or each.number in group}
    return len(reached) == 1 and None not in reached


def _reached(rank: RankRecord, group: tuple[int, ...] | None) -> tuple[int, str] | None:
    """The collective of a group that a rank waits in: its number in that group, and its name."""
    call = rank.pending
    if call is None or call.group != group or _is_over(rank):
        return None
    return sum(each.group == group for each in rank.calls), call.name


def activity(process: int) -> tuple[float, bool]:
    """The processor seconds of a process and those that it has started, and whether one is working now.

    Without /proc nothing is known: then they count as idle.
    """
    seconds, at_work = 0.0, False
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _fields(folder / "stat")
        if len(fields) > 14 and fields[2] == str(process):  # in its process group
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            at_work = at_work or any(_fields(task)[:1] in _AT_WORK for task in folder.glob("task/*/stat"))
    return seconds, at_work


def _fields(stat: Path) -> list[str]:
    """The fields of a `stat` file after the name of the program, which may contain anything."""
    with suppress(OSError):
        return stat.read_text(errors="replace").rpartition(")")[2].split()
    return []

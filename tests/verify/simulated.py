"""Ranks that run one after the other in this process: a program in which `meet()` is a collective.

Everything is as recorded up to where the ranks' collectives diverge; there, those that have one wait in it.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
import textwrap
from pathlib import Path
from typing import Any

import pytest

from trl_lint.verify.rank import call_stack, executing, marking, trace
from trl_lint.verify.rank.call_stack import UserFiles
from trl_lint.verify.rank.trace import trace_path
from trl_lint.verify.record.executed import Called
from trl_lint.verify.record.traces import RankRecord, Run, read_run

STATE = {"_recorder": None, "_path": None, "_next": 1, "_calls": 0, "_owner": 0}


@contextlib.contextmanager
def as_if_new():
    """This process records nothing afterwards, and starts without records."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in STATE.items():
            patch.setattr(executing, name, value)
        patch.setattr(trace, "current", None)
        try:
            yield
        finally:
            for name in (executing.WRITE, executing.FULL):
                builtins.__dict__.pop(name, None)


def run(text: str, folder: Path, nproc: int = 2) -> Run:
    """The record of ranks that run a program, in which `rank` is the number of each."""
    path = folder / "train.py"
    path.write_text(textwrap.dedent(text))
    for number in range(nproc):
        with as_if_new():
            _run_rank(path, number)
    found = read_run(folder, UserFiles(str(folder)))
    return Run(_stuck(found.ranks))


def _run_rank(path: Path, rank: int) -> None:
    files = UserFiles(str(path.parent))
    trace.current = trace.Trace(trace_path(str(path.parent), rank))
    executing.keep(str(path.parent), rank)
    calls = itertools.count()

    def meet(name: str = "all_reduce", group: list[int] | None = None) -> None:
        number, at = next(calls), call_stack.current(files, depth=1)
        trace.write("call", number=number, name=name, group=group, op="", dtype=None, shape=None, device=None, at=at)
        executing.collective(number)
        trace.current.done()

    names: dict[str, Any] = {"rank": rank, "meet": meet, "backward": executing.synchronises}
    with contextlib.suppress(SystemExit):
        exec(marking.compiled(path.read_bytes(), str(path), str(path)), names)
    trace.write("end", status=0)


def _stuck(ranks: list[RankRecord]) -> list[RankRecord]:
    """The ranks, stopped where their collectives first diverge."""
    kinds = [[(call.name, call.group) for call in rank.calls] for rank in ranks]
    last = next((n for n, each in enumerate(itertools.zip_longest(*kinds)) if len(set(each)) > 1), None)
    for rank in ranks if last is not None else ():
        if last < len(rank.calls):
            rank.calls = rank.calls[: last + 1]
            rank.done = set(range(last))
            rank.executed.events = rank.executed.events[: rank.executed.events.index(Called(last)) + 1]
            rank.end = None
    return ranks

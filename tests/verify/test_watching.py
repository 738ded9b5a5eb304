"""Late ranks are waited for; ranks that wait for each other in vain are reported at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from marks import NEVER_MEET, line, subject

from trl_lint.verify.oracles import termination
from trl_lint.verify.processes import watching
from trl_lint.verify.proof.session import Session
from trl_lint.verify.rank import precision
from trl_lint.verify.record.traces import Call, End, RankRecord, Run, SourcePlace

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


def waiting(number, name="barrier", *, calls=1, group=None, **fields):
    """A rank in the last of `calls` collectives of a group."""
    at = (SourcePlace("/project/train.py", 3, "main"),)
    made = [Call(index, name, group, "", None, None, None, at) for index in range(calls)]
    return RankRecord(number, calls=made, done=set(range(calls - 1)), asked_to_stop=True, **fields)


@pytest.mark.parametrize(
    ("ranks", "meet"),
    [
        ([waiting(0), waiting(1)], True),
        ([waiting(0), waiting(1, "all_reduce")], False),
        ([waiting(0), waiting(1, calls=2)], False),
        ([waiting(0), RankRecord(1)], False),
        ([waiting(0), waiting(1, exit=0)], False),
        ([waiting(0), waiting(1, group=(1, 2)), waiting(2, group=(1, 2))], False),
        ([waiting(0, group=(0, 1)), waiting(1, group=(0, 1)), waiting(2)], True),
    ],
)
def test_ranks_meet_that_are_all_in_the_same_collective(ranks, meet):
    assert watching.can_complete(ranks[0], Run(ranks)) is meet


def test_a_run_that_was_stuck_is_a_hang_unless_a_rank_is_through():
    run = Run([waiting(0), RankRecord(1, synchronises=True, asked_to_stop=True)], stuck=True)
    verdict = termination.judge(run)
    assert verdict.kind == "hang"
    assert not any("--timeout" in each for each in verdict.evidence)
    run.ranks[1].synchronises = False
    assert "if rank 1 was at work there, --timeout was too short for it" in termination.judge(run).evidence
    run.ranks[1] = RankRecord(1, end=End(1.0, 0), exit=0)
    assert termination.judge(run).kind == "left early"


@needs_proc
@pytest.mark.parametrize(("program", "at_work"), [("while True: pass", True), ("import time; time.sleep(600)", False)])
def test_a_process_is_at_work_or_not(program, at_work):
    """The same for a process that it has started itself."""
    started = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    with subprocess.Popen([sys.executable, "-c", started], start_new_session=True) as process:
        try:
            assert settled(lambda: watching.activity(process.pid)[1] is at_work)
        finally:
            os.killpg(process.pid, 9)


def settled(holds, times=20):
    """Whether something becomes true and stays true: starting is work, too."""
    return any(all(holds() or time.sleep(0.1) for _ in range(times)) for _ in range(600))


@pytest.mark.torch
@needs_proc
def test_a_rank_that_works_is_waited_for(launch, server, tmp_path):
    """However long: here for three times the patience."""
    session = Session(replace(launch, timeout=1.0), tmp_path, start=server)
    judged = session.judge(subject("prepares", "computes", "3"), "as it is")
    assert judged.ended_well and judged.passed, judged.verdicts


@pytest.mark.torch
def test_a_rank_that_does_nothing_is_waited_for_as_long_as_was_asked_for(launch, server, tmp_path):
    for seconds, timeout, way in (("2", 120.0, ""), ("600", 1.0, "hang")):
        session = Session(replace(launch, timeout=timeout), tmp_path / seconds, start=server)
        verdict = session.judge(subject("prepares", "sleeps", seconds), "as it is").verdict("ends")
        assert verdict.kind == way, verdict
    assert line("prepares", "waits", 1) in verdict.evidence[1]
    assert "--timeout was too short" in verdict.evidence[2]


@pytest.mark.torch
@pytest.mark.parametrize("program", NEVER_MEET)
def test_what_can_not_meet_is_told_of_however_long_was_asked_for(judged, program):
    """Here for an hour (`conftest.py`)."""
    assert judged(program).verdict("ends").kind == "hang"


@pytest.mark.torch
@pytest.mark.parametrize(("gpu", "bf16"), [(False, True), (True, False)])
def test_a_machine_without_a_gpu_computes_in_bfloat16(monkeypatch, gpu, bf16):
    """One with a GPU is asked whether it does."""
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    module = SimpleNamespace(**{precision.CHECK: lambda: False})
    precision.patch_arguments(module)
    assert getattr(module, precision.CHECK)() is bf16
    precision.patch_arguments(SimpleNamespace())

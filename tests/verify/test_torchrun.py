"""The same verdicts when torchrun starts the ranks, as it does for users, and that no process outlives a run."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from marks import PROGRAMS, line, subject
from processes import Clock, asleep, left, of_ranks, with_words

from trl_lint.verify.processes import launcher
from trl_lint.verify.proof import fixtures, proofs
from trl_lint.verify.proof.session import Session
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.verdicts import Outcome

pytestmark = pytest.mark.torch
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


# Seconds after which idle ranks are given up.
TIMEOUT = 10


@pytest.fixture(scope="module")
def torchrun(launch):
    return replace(launch, timeout=TIMEOUT)


def judge(launch, folder, program, *args):
    return Session(launch, folder / "traces").judge(subject(program, *args), "as it is")


@pytest.mark.parametrize(
    ("program", "way", "word", "rank"),
    [
        pytest.param("raises_on_one", "exception", "cause", None, marks=pytest.mark.slow),
        pytest.param("aborts", "abort", "cause", None, marks=pytest.mark.slow),
        pytest.param("killed_inside", "killed", "cause", None, marks=pytest.mark.slow),
        pytest.param("returns_early", "left early", "waits", 0, marks=pytest.mark.slow),
    ],
)
def test_the_cause_is_told_from_its_echo(torchrun, tmp_path, program, way, word, rank):
    """All run in forks in every run of the tests (test_verdicts.py), and a hang through torchrun (below)."""
    verdict = judge(torchrun, tmp_path, program).verdict("ends")
    assert (verdict.outcome, verdict.kind) == (Outcome.FAILED, way), verdict
    assert any(line(program, word, rank) in each for each in verdict.evidence), verdict.evidence


@needs_proc
def test_a_hang_is_told_in_time_and_leaves_no_process(launch, tmp_path):
    """An idle rank is given up as soon as in forks: one that still starts is not idle."""
    judged = judge(launch, tmp_path, "starts_helper", str(tmp_path))
    verdict = judged.verdict("ends")
    assert verdict.kind == "hang"
    for rank in (0, 1):
        assert line("starts_helper", "waits", rank) in verdict.evidence[rank]
    # Rank 1 has not left its sleep before it was asked to.
    assert judged.run.stuck and judged.run.ranks[1].asked_to_stop and judged.run.ranks[1].end is None
    ranks, helpers = of_ranks(tmp_path), [int(path.read_text()) for path in tmp_path.glob("helper*")]
    assert (len(ranks), len(helpers)) == (2, 2)
    assert not left([*ranks, *helpers])
    assert not with_words(str(tmp_path))


# It imports nothing that takes long: torchrun itself does.
STARTS = """\
import os, subprocess, time
helper = subprocess.Popen(["sleep", "600"])
with open(f"starting{helper.pid}", "w") as file:
    file.write(str(helper.pid))
os.rename(file.name, f"helper{os.environ['RANK']}")
time.sleep(600)
"""


@needs_proc
@pytest.mark.parametrize(
    "is_killed", [pytest.param(False, id="asked to stop", marks=pytest.mark.slow), pytest.param(True, id="killed")]
)
def test_a_run_that_is_given_up_leaves_no_process(torchrun, tmp_path, monkeypatch, is_killed):
    """`limit` and Ctrl+C end a run in the same way; if torchrun does not react, it is killed.

    That it is asked to stop is tested with Ctrl+C (`test_interrupts.py`) in every run.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launcher, "STOP_SECONDS", 0.0 if is_killed else 300)

    def tick():
        if len([*tmp_path.glob("helper*")]) == 2:
            time.sleep(0.5)
            raise KeyboardInterrupt

    script = tmp_path / "starts.py"
    script.write_text(STARTS)
    job = Job(str(script), (), str(tmp_path / "traces"), str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        launcher.run(replace(torchrun, timeout=3600), job, tick=tick)
    ranks = of_ranks(tmp_path)
    assert len(ranks) == 2
    assert not left(ranks)
    if not is_killed:
        assert not left(int(path.read_text()) for path in tmp_path.glob("helper*"))
    assert not left(with_words(str(tmp_path)))


@needs_proc
@pytest.mark.parametrize("in_forks", [pytest.param(False, id="torchrun", marks=pytest.mark.slow), True])
def test_a_run_is_stopped_at_its_limit(launch, request, tmp_path, monkeypatch, in_forks):
    """In forks in every run: what ends is asked to stop by torchrun as after Ctrl+C (`test_interrupts.py`)."""
    start = {"start": request.getfixturevalue("server")} if in_forks else {}
    monkeypatch.setattr(launcher, "time", Clock(asleep(tmp_path, {0: "call", 1: "group"})))
    session = Session(replace(launch, timeout=3600, limit=3600), tmp_path / "traces", **start)
    judged = session.judge(subject("sleeps"), "as it is")
    verdict = judged.verdict("ends")
    assert (verdict.kind, verdict.summary) == ("stopped", "the run was stopped after 3600 s")
    for rank in (0, 1):
        assert line("sleeps", "waits", rank) in verdict.evidence[rank]
    assert judged.verdict("same sequence").outcome is Outcome.PASSED


@pytest.mark.slow  # runs in forks in every run of the tests (test_verdicts.py)
def test_shares_are_moved(torchrun, tmp_path):
    verdict = judge(torchrun, tmp_path, "logs", "share on main").verdict("same metric")
    assert verdict.kind == "metric"
    assert "rank 0 with the next rank's share" in verdict.evidence[0]


@pytest.mark.slow  # a stand-in for it is quoted in every run (test_launcher.py)
def test_a_launcher_that_fails_is_quoted(torchrun, tmp_path):
    job = Job("train.py", (), str(tmp_path / "traces"), str(tmp_path))
    with pytest.raises(launcher.LaunchError, match="invalid literal"):
        launcher.run(replace(torchrun, nnodes="many"), job)


@pytest.mark.slow  # all run in forks in every run of the tests, and one through torchrun from the wheel
@pytest.mark.parametrize("name", ["wrapped_model_attribute/broken_ddp", "unreduced_metric/broken_ddp"])
def test_a_fixture(torchrun, tmp_path, name):
    (fixture,) = [each for each in fixtures.fixtures() if each.name == name]
    proof = proofs.of_fixture(fixture, Session(torchrun, tmp_path))
    assert len(proof.columns) == 2
    assert all(column.holds for column in proof.columns), [column.judged.verdicts for column in proof.columns]


# The arguments of the programs that take any.
ARGUMENTS = {
    "closing_log": ("quietly",),
    "exits": ("3",),
    "logs": ("share",),
    "on_one_too": ("mean",),
    "unsynchronised": ("with DDP",),
}


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_every_program_ends_as_in_a_fork(torchrun, judged, tmp_path, program):
    args = {**ARGUMENTS, "starts_helper": (str(tmp_path),)}.get(program, ())
    here, there = judge(torchrun, tmp_path, program, *args), judged(program, *args)
    assert [(each.oracle, each.kind) for each in here.verdicts] == [(each.oracle, each.kind) for each in there.verdicts]

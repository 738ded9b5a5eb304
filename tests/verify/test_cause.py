"""That a program passes is attributed to the fix alone only if the fix is the cause, as far as runs can show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_runs import SCRIPT, Runs, failed, printed, well

from trl_lint.findings import Finding, Position
from trl_lint.settings import Settings
from trl_lint.verify.cli import FORMATS
from trl_lint.verify.oracles import termination
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import cause, mending, proofs
from trl_lint.verify.proof.mending import FixedCopy
from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Outcome

SUBJECT = Subject("train.py", SCRIPT, Path("/p"))
FINDING = Finding("TRL003", "unreduced-metric", "", SCRIPT, Position(31, 5), Position(31, 9))
PROVEN = "It fails as it is and passes when fixed: run `trl-lint --fix train.py`."


@pytest.fixture
def prove(tmp_path, monkeypatch):
    """The proof of a script whose line 31 is fixed and whose fixed copy passes, and the labels of its runs."""
    monkeypatch.setattr(mending, "write_fixed_copy", lambda *_: FixedCopy(findings=[FINDING], applied=[FINDING]))
    monkeypatch.setattr(mending, "files_to_fix", lambda *_: [Path(SCRIPT)])
    monkeypatch.setattr(mending, "files_of", lambda *_: [])

    def made(before, again=None, **launch):
        runs = {"as it is": [before], "as it is again": [again], "fixed": [[well(0), well(1)]]}
        started = Runs(runs)
        runner = Session(replace(Launch("python"), **launch), tmp_path, start=started)
        return proofs.of_script(SUBJECT, runner, Settings(), [], one_process=False, bare=False), started

    return made


def both(line, said="no file", **given):
    return [failed(0, line, said, **given), failed(1, line, said, **given)]


def last(proof):
    return printed("text", proof, "trl-lint --fix train.py").splitlines()[-1]


def test_a_failure_at_what_is_mended_that_repeats(prove):
    proof, started = prove(both(31, reached=(31,)), both(31, reached=(31,)))
    assert started.asked == ["as it is", "fixed", "as it is again"]
    assert proof.shown.outcome is Outcome.PASSED and last(proof) == PROVEN


def test_a_failure_before_what_is_mended(prove):
    proof, started = prove(both(14))
    assert started.asked == ["as it is", "fixed"]
    assert last(proof) == (
        "It failed as it is and passed when fixed, but the failure at train.py:14 (<module>) is not at or behind what "
        "was mended (train.py:31), so nothing is shown of the fix."
    )


def test_a_failure_that_does_not_repeat(prove):
    proof, _ = prove(both(40, reached=(31,)), [well(0, reached=(31,)), well(1, reached=(31,))])
    assert last(proof) == (
        "It failed as it is and passed when fixed, but unchanged it passed the second time: the failure does not "
        "repeat, so nothing is shown of the fix."
    )


@pytest.mark.parametrize("other", [both(50), both(40, "no room")], ids=["at another line", "for another reason"])
def test_a_failure_that_repeats_in_another_way(prove, other):
    proof, _ = prove(both(40, reached=(31,)), other)
    assert "but unchanged it failed in another way the second time (ranks 0, 1: OSError: " in last(proof)


@pytest.mark.parametrize("again", [[well(0), well(1)], both(40, reached=(31,))], ids=["passes", "fails"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_so(prove, name, again):
    proof, _ = prove(both(40, reached=(31,)), again)
    text = printed(name, proof, "trl-lint --fix train.py").replace("\\", "")
    repeats = not again[0].ended_well
    assert (PROVEN in text, "does not repeat" in text) == (repeats, not repeats)
    if name == "json":
        (subject,) = json.loads(text)["subjects"]
        assert subject["shown"]["outcome"] == ("passed" if repeats else "unknown")


def test_on_several_machines_it_is_not_run_again(prove):
    proof, started = prove(both(31, reached=(31,)), nnodes="2")
    assert started.asked == ["as it is", "fixed"] and "on several machines it is not run again" in last(proof)


# For each run: its ranks, and whether the fixed lines may have caused its end.
RUNS = {
    "a rank that fails has been there": ([failed(0, 40, reached=(31,)), well(1)], True),
    "another rank has": ([failed(0, 14), failed(1, 40, "late", reached=(31,))], False),
    "another rank had when they met": ([failed(0, 14, calls=1), failed(1, 40, "late", reached=(31,))], True),
    "another rank has since they met": ([failed(0, 14, calls=1), failed(1, 40, "late", reached=(31,), calls=1)], False),
    "none has": ([failed(0, 14, calls=1), failed(1, 14)], False),
    "both end well": ([well(0), well(1, reached=(31,))], True),
}


@pytest.mark.parametrize(("ranks", "is_behind"), RUNS.values(), ids=RUNS)
def test_which_ranks_count(ranks, is_behind):
    run = Run(ranks)
    verdict = termination.judge(run)
    if not verdict.failed:
        verdict = termination.failed("same metric", "metric", "a: not the same on all ranks")
    assert cause.was_reached_before(run, verdict, [FINDING]) is is_behind


# --- with real processes --------------------------------------------------------------------------------

# Both ranks find no folder and create it; the second run finds it.
RACE = """\
if not os.path.isdir(OUT):
    dist.barrier()
    os.makedirs(OUT)
"""
START = """\
import os
import sys

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
OUT = sys.argv[1]
"""
# A metric that is local, and happens to be the same on these data.
LOGS = """\
loader = accelerator.prepare(DataLoader(torch.ones(8), batch_size=2))
for batch in loader:
    accelerator.log({"loss": batch.mean().item()})
"""
GATHERS = "print(accelerator.gather(torch.ones(3).sum().item()))\n"


@pytest.fixture
def run(launch, server, tmp_path):
    def made(text, *, tidies=False):
        (tmp_path / "train.py").write_text(text)
        asked = []

        def tell(said):
            asked.append(said.split(": ")[1])

        runner = Session(launch, tmp_path / "traces", start=server, tell=tell, tidies=tidies)
        subject = Subject("train.py", str(tmp_path / "train.py"), tmp_path, (str(tmp_path / "out"),))
        settings = Settings(root=tmp_path)
        return proofs.of_script(subject, runner, settings, [], one_process=False, bare=False), asked

    return made


@pytest.mark.torch
def test_a_race_before_an_unrelated_fix(run):
    # A barrier of two ranks is passed, and yet no rank has reached the fixed line.
    proof, asked = run(START + RACE + LOGS)
    assert [finding.code for finding in proof.fixes] == ["TRL003"] and asked == ["as it is", "fixed"]
    assert "FileExistsError" in proof.columns[0].judged.verdict("ends").summary
    assert "train.py:13 (<module>) is not at or behind what was mended (train.py:16)" in last(proof)


@pytest.mark.torch
def test_a_race_behind_an_unrelated_fix(run):
    proof, asked = run(START + LOGS + RACE)
    assert [finding.code for finding in proof.fixes] == ["TRL003"]
    assert asked == ["as it is", "fixed", "as it is, again"]
    # On a busy machine a rank may be late the second time, so that the run fails in another way: that shows no more.
    assert last(proof).startswith("It failed as it is and passed when fixed, but ")
    assert "so nothing is shown of the fix" in last(proof)


@pytest.mark.torch
def test_a_race_comes_again_where_each_run_begins_as_the_first_did(run):
    proof, asked = run(START + RACE + LOGS, tidies=True)
    assert "FileExistsError" in proof.columns[0].judged.verdict("ends").summary
    assert asked == ["as it is", "fixed"] and last(proof) == "It fails as it is, and fixed as well."


@pytest.mark.torch
def test_a_failure_that_the_fix_mends(run):
    proof, asked = run(START + GATHERS)
    assert asked == ["as it is", "fixed", "as it is, again"] and last(proof) == PROVEN

"""What runs show about each finding: shown, consistent, not reached or contradicted, how often it was executed, and
why.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import simulated
from commands import call, in_forks
from fake_runs import SCRIPT, failed, lines, printed, well
from marks import PROGRAMS

from trl_lint.findings import Consequence, Finding, Position
from trl_lint.verify.oracles import termination
from trl_lint.verify.proof import not_reached, per_finding
from trl_lint.verify.proof.per_finding import BothRuns, FindingOutcome
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record import verdicts
from trl_lint.verify.record.traces import Log, Run, SourcePlace

METRIC = Finding(
    "TRL003", "unreduced-metric", "", SCRIPT, Position(31, 1), Position(31, 5), consequence=Consequence.WRONG_NUMBER
)
CRASH = Finding("TRL001", "item-before-gather", "", SCRIPT, Position(40, 1), Position(40, 5))
PROVEN = verdicts.passed("the fix", "it fails before and after as it is, at or behind what was mended")
METRIC_FAILED = verdicts.failed("same metric", "metric", "a: not the same on all ranks", metrics={"a": {}})
METRIC_PASSED = verdicts.passed("same metric", "1 metric, equal on all ranks", metrics=["a"])


def judged(ranks, *more):
    run = Run(ranks)
    return Judged("a run", run, [termination.judge(run), *more])


def said(before, after, findings=(METRIC, CRASH), hints=(), shown=PROVEN):
    runs = BothRuns(before, after, {}, shown, ())
    return [(each.outcome, each.reason) for each in per_finding.verdicts(runs, findings, hints)]


def both(*reached):
    return [well(0, reached=reached), well(1, reached=reached)]


def crashes(line, *reached):
    return [failed(rank, line, reached=reached) for rank in range(2)]


def test_what_fails_at_a_finding_and_passes_when_fixed_is_shown():
    found = said(judged(crashes(40, 31, 40)), judged(both(31, 40)))
    assert found == [(FindingOutcome.CONSISTENT, "what failed is elsewhere"), (FindingOutcome.SHOWN, "")]


def test_a_failure_behind_findings_is_by_all_that_were_reached():
    found = said(judged(crashes(50, 31)), judged(both(31, 40)))
    assert found == [
        (FindingOutcome.SHOWN, ""),
        (FindingOutcome.CONSISTENT, "it was executed in the fixed run alone, which got further"),
    ]


@pytest.mark.parametrize(
    ("consequence", "oracle", "reason"),
    [
        (Consequence.WRONG_NUMBER, METRIC_PASSED, "the values that were compared are equal on these data"),
        (Consequence.WRONG_NUMBER, verdicts.unknown("same metric", "nothing"), "no values could be compared"),
        (Consequence.DEADLOCK, METRIC_PASSED, "the run ended well all the same"),
    ],
)
def test_a_run_that_passes_does_not_decide(consequence, oracle, reason):
    found = said(judged(both(31), oracle), judged(both(31), oracle), [replace(METRIC, consequence=consequence)])
    assert found == [(FindingOutcome.CONSISTENT, reason)]


def test_without_a_fix_nothing_decides():
    assert said(judged(crashes(50, 31)), None, (), [METRIC]) == [(FindingOutcome.CONSISTENT, "there is no fix to try")]


def test_a_failure_that_does_not_repeat_shows_nothing():
    shown = verdicts.unknown("the fix", "unchanged it passed the second time, so nothing is shown of the fix")
    found = said(judged(crashes(31, 31)), judged(both(31)), [METRIC], shown=shown)
    assert found == [(FindingOutcome.CONSISTENT, "unchanged it passed the second time")]


def test_what_fails_when_fixed_as_it_did_is_contradicted():
    found = said(judged(crashes(31, 31)), judged(crashes(31, 31)), [METRIC])
    assert found == [(FindingOutcome.CONTRADICTED, "fixed it fails there in the same way")]
    # In other places it may have another cause.
    assert said(judged(crashes(50, 31)), judged(crashes(50, 31)), [METRIC])[0][0] is FindingOutcome.CONSISTENT


def test_what_must_fail_and_does_not_is_contradicted():
    found = said(judged(both(31, 40)), judged(both(31, 40)))
    assert found[1] == (FindingOutcome.CONTRADICTED, "each rank has executed it, and the run ended well")
    one = [well(0, reached=(40,)), well(1)]
    assert said(judged(one), judged(one), [CRASH])[0][0] is FindingOutcome.CONSISTENT


def test_a_metric_is_shown_by_its_own_oracle():
    """The other finding is on another line."""
    ranks = both(31, 35)
    for rank in ranks:
        rank.logs = [Log("wandb.log", {"a": 1.0}, (SourcePlace(SCRIPT, 31, "main"),))]
    other = replace(METRIC, start=Position(35, 1), end=Position(35, 5))
    found = said(judged(ranks, METRIC_FAILED), judged(both(31, 35), METRIC_PASSED), [METRIC, other])
    assert found == [(FindingOutcome.SHOWN, ""), (FindingOutcome.CONSISTENT, "what failed is elsewhere")]
    found = said(judged(ranks, METRIC_FAILED), judged(ranks, METRIC_FAILED), [METRIC, other])
    assert found == [
        (FindingOutcome.CONTRADICTED, "fixed, a fails as well"),
        (FindingOutcome.CONSISTENT, "it fails fixed as well"),
    ]
    # The ranks agree when fixed, on a mean that is not that of one process.
    value = replace(METRIC_FAILED, oracle="true value", kind="value")
    found = said(judged(ranks, METRIC_FAILED, value), judged(ranks, METRIC_PASSED, value), [METRIC])
    assert found[0][0] is not FindingOutcome.CONTRADICTED, found


def test_an_oracle_that_names_a_line_speaks_of_the_finding_there():
    device = verdicts.failed("own device", "device", "a tensor of the CPU", at=["train.py:31 (main)"])
    right = verdicts.passed("own device", "all are on the process's own device")
    other = replace(METRIC, start=Position(35, 1), end=Position(35, 5))
    found = said(judged(both(31, 35), device), judged(both(31, 35), right), [METRIC, other])
    assert found == [(FindingOutcome.SHOWN, ""), (FindingOutcome.CONSISTENT, "what failed is elsewhere")]


def test_where_nothing_was_marked_nothing_is_said():
    ranks = both()
    for rank in ranks:
        rank.executed = type(rank.executed)()
    assert said(judged(ranks), None)[0] == (FindingOutcome.CONSISTENT, "how often it was executed is not known")


def test_lines_that_a_fix_has_made(tmp_path):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text("import a\n\nx = 1\nlog(x)\ny = 2\n")
    after.write_text("import a\nimport b\n\nx = 1\nz = b.mean(x)\nlog(z)\ny = 2\n")
    finding = replace(METRIC, path=str(before), start=Position(4, 1), end=Position(4, 6))
    assert per_finding.fixed_lines(finding, str(after)) == [5, 6]
    unchanged = replace(finding, start=Position(5, 1), end=Position(5, 6))
    assert per_finding.fixed_lines(unchanged, str(after)) == [7]


# --- why it was not reached -----------------------------------------------------------------------------

NOT_REACHED = {
    "a function": ("def foo():\n    x = 1  #\n", "the function `foo` was never called"),
    "a method of a function that is never called": (
        "def make():\n    class A:\n        def step(self):\n            x = 1  #\n",
        "the function `make` was never called",
    ),
    "a branch": ("if rank > 5:\n    x = 1\n    y = 2  #\n", "the branch at line 1 was never taken"),
    "the other branch": ("if rank < 5:\n    x = 1\nelse:\n    y = 2  #\n", "the `else` of line 1 was never taken"),
    "a loop": ("for each in ():\n    x = 1  #\n", "the loop at line 1 had no round"),
    "an exception": (
        "try:\n    x = 1\nexcept ValueError:\n    y = 2  #\n",
        "nothing came to the `except` of the `try` at line 1",
    ),
    "behind a return": ("def f():\n    if 1:\n        return\n    x = 1  #\nf()\n", "it was left before that line"),
    "evaluation of a trainer": (
        "class Trainer: pass\ndef compute_metrics(p):\n    x = 1  #\n",
        "evaluation never ran: the function `compute_metrics` was never called; "
        "give --eval_strategy steps --eval_steps 1",
    ),
    "saving": (
        "import argparse\nargparse.ArgumentParser().add_argument('--save-every')\nif rank % 7 == 5 and 'save_steps':\n"
        "    x = 1  #\n",
        "nothing was saved: the branch at line 3 was never taken; see the script's --save-every",
    ),
    "no occasion of a trainer": ("if rank > 5 and 'log':\n    x = 1  #\n", "the branch at line 1 was never taken"),
    "an epoch": (
        "class Trainer: pass\nclass Callback:\n    def on_epoch_end(self):\n        x = 1  #\n",
        "no epoch came to its end: the function `on_epoch_end` was never called; "
        "give --num_train_epochs 1, and no --max_steps",
    ),
}


@pytest.mark.parametrize(("text", "reason"), NOT_REACHED.values(), ids=NOT_REACHED)
def test_why_it_was_not_reached(text, reason, tmp_path):
    run = simulated.run(text, tmp_path)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if each.endswith("#"))
    column = len(text.splitlines()[line - 1]) - len(text.splitlines()[line - 1].lstrip()) + 1
    path = tmp_path / "train.py"
    finding = replace(METRIC, path=str(path), start=Position(line, column), end=Position(line, column + 3))
    assert not_reached.reason(finding, run, [path]) == reason
    for rank in run.ranks:
        rank.end = None
    assert not_reached.reason(finding, run, [path]).endswith(", as the run failed before its end")


def test_a_file_that_nobody_imports(tmp_path):
    run = simulated.run("x = 1\n", tmp_path)
    assert not_reached.reason(METRIC, run, []) == "the file was never imported"


# --- what is printed ------------------------------------------------------------------------------------


def proof(before, after, *findings):
    runs = BothRuns(before, after, {}, PROVEN, ())
    made = Proof("train.py", [Column(before, before.passed), Column(after, after.passed)], fixes=[*findings])
    made.findings = per_finding.verdicts(runs, findings, [])
    return made


@pytest.mark.parametrize("name", ["text", "markdown", "json"])
def test_every_format_tells_it(name):
    before, after = judged(crashes(40, 40)), judged(both(40))
    text = printed(name, proof(before, after, METRIC, CRASH)).replace("\\", "")
    if name == "json":
        (subject,) = json.loads(text)["subjects"]
        assert [each["verdict"] for each in subject["findings"]] == ["not reached", "shown"]
        assert subject["findings"][1]["times"] == {"as it is": {"0": 1, "1": 1}, "fixed": {"0": 1, "1": 1}}
        assert subject["findings"][1]["is_fixed"] and subject["findings"][1]["line"] == 40
    else:
        assert "shown: /p/train.py:40:1: TRL001 item-before-gather (rank 0: 1 time, rank 1: 1 time)" in text
        assert "not reached: /p/train.py:31:1: TRL003 unreduced-metric: " in text


def test_equal_counts_of_many_ranks_are_told_once():
    ranks = [well(rank, world_size=3, reached=(31,)) for rank in range(3)]
    made = proof(judged(ranks), judged(ranks), METRIC)
    assert "(each of 3 ranks: 1 time)" in printed("text", made)
    ranks[1].executed = lines(())
    assert "(rank 0: 1 time, rank 1: 0 times, rank 2: 1 time)" in printed(
        "text", proof(judged(ranks), judged(ranks), METRIC)
    )


@pytest.mark.parametrize(("findings", "words"), [((METRIC,), "1 finding was"), ((METRIC, CRASH), "2 findings were")])
def test_that_nothing_was_seen_names_what_was_not_reached(findings, words):
    last = printed("text", proof(judged(both()), judged(both()), *findings)).splitlines()[-1]
    assert last == f"Nothing wrong was seen; {words} not reached. That is no proof: a run only shows what it reaches."


# --- a program ------------------------------------------------------------------------------------------


@pytest.fixture
def findings(server, tmp_path, monkeypatch):
    """The verdicts of `trl-lint verify` on the findings of a program, by code, and its conclusion."""

    def made(*args):
        shutil.copy(PROGRAMS / "finds.py", tmp_path)
        monkeypatch.chdir(tmp_path)
        in_forks(server, tmp_path, monkeypatch)
        done = call("--no-one-process", "--output-format", "json", "finds.py", *args)
        assert done.exit_code < 2, done.stderr
        (subject,) = json.loads(done.stdout)["subjects"]
        return {each["code"]: each for each in subject["findings"]}, subject["conclusion"]

    return made


@pytest.mark.torch
def test_a_finding_is_shown_and_another_not_reached(findings):
    each, conclusion = findings()
    assert {code: found["verdict"] for code, found in each.items()} == {"TRL001": "not reached", "TRL003": "shown"}
    assert each["TRL003"]["times"] == {"as it is": {"0": 2, "1": 2}, "fixed": {"0": 2, "1": 2}}
    assert each["TRL001"]["reason"] == (
        "evaluation never ran: the function `evaluate` was never called; see the script's --eval-every"
    )
    assert conclusion.startswith("It fails as it is and passes when fixed")


@pytest.mark.torch
def test_equal_data_decide_nothing(findings):
    each, conclusion = findings("--equal")
    assert {code: found["verdict"] for code, found in each.items()} == {"TRL001": "not reached", "TRL003": "consistent"}
    assert each["TRL003"]["reason"] == "the values that were compared are equal on these data"
    assert conclusion.startswith("Nothing wrong was seen; 1 finding was not reached. ")


@pytest.mark.torch
def test_several_that_are_fixed_at_once(findings):
    each, _ = findings("--eval-every", "2")
    assert {code: found["verdict"] for code, found in each.items()} == {"TRL001": "shown", "TRL003": "shown"}

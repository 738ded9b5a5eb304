"""Verdicts of the harness on small programs: how they ended and why, which collectives diverged, what was logged."""

from __future__ import annotations

import math

import pytest
from marks import line, subject

from trl_lint.verify.proof.session import Session
from trl_lint.verify.record.verdicts import Outcome

pytestmark = pytest.mark.torch


def ends(judged, way):
    """The verdict on a run that ended in this way."""
    verdict = judged.verdict("ends")
    assert (verdict.outcome, verdict.kind) == (Outcome.FAILED, way), verdict
    return verdict


def evidence_of(verdict, rank):
    """The one line of evidence about a rank."""
    found = [each for each in verdict.evidence if each.startswith(f"rank {rank}: ")]
    assert len(found) == 1, verdict.evidence
    return found[0]


# For each program: its arguments, how it ends, the rank that is the cause, and its message.
CAUSES = [
    ("raises_on_one", (), "exception", "ValueError: no rows are left"),
    ("raises_and_lingers", (), "exception", "ValueError: no rows are left"),
    ("loses_another_in_ddp", (), "exception", "ValueError: no rows are left"),
    ("refused", (), "exception", "ConnectionRefusedError: [Errno 111] Connection refused"),
    ("own_timeout", (), "exception", "TimeoutError: the reward server timed out after 5 s"),
    ("exits", ("3",), "exit", "exit status 3"),
    ("exits", ("no rows are left",), "exit", "exit status 1: no rows are left"),
    ("killed_inside", (), "killed", "killed (out of memory, as a rule) (exit -9, SIGKILL)"),
]


@pytest.mark.parametrize(("program", "args", "way", "said"), CAUSES)
def test_the_cause_is_told_from_its_echo(judged, program, args, way, said):
    verdict = ends(judged(program, *args), way)
    assert verdict.summary == f"rank 1: {said}"
    assert verdict.data["ranks"] == [1]
    assert verdict.evidence[0].startswith(f"at {line(program, 'cause')}")
    assert evidence_of(verdict, 0).endswith("(an echo)")


@pytest.mark.parametrize("program", [program for program, args, _, _ in CAUSES if not args])
def test_what_is_cut_short_is_not_said_to_part(judged, program):
    assert judged(program).verdict("same sequence").outcome is Outcome.PASSED


def test_all_ranks_that_raise_the_same_are_named(judged):
    verdict = ends(judged("raises_on_both"), "exception")
    assert verdict.summary == "ranks 0, 1: ZeroDivisionError: division by zero"
    assert verdict.data["ranks"] == [0, 1]
    assert verdict.evidence == (f"at {line('raises_on_both', 'cause')}(share)",)


def test_an_abort_in_cpp_has_its_place_and_both_shapes(judged):
    both = judged("aborts")
    verdict = ends(both, "abort")
    assert "abort in C++ (exit -6), no Python traceback: gloo::EnforceNotMet: " in verdict.summary
    at = line("aborts", "cause")
    assert verdict.evidence[0].startswith(f"at {at}")
    parted = both.verdict("same sequence")
    assert (parted.kind, parted.data["index"]) == ("sequence", 1)
    assert parted.data["calls"] == {0: "all_gather float32[2]", 1: "all_gather float32[3]"}
    assert [f"rank {rank}: all_gather float32[{2 + rank}] at {at}(<module>)" for rank in (0, 1)] == [*parted.evidence]


def test_a_rank_that_says_nothing_is_placed_by_its_last_collective(judged):
    verdict = ends(judged("killed"), "killed")
    assert verdict.summary == "rank 1: killed (out of memory, as a rule) (exit -9, SIGKILL)"
    assert f"after 1 of them, the last one at {line('killed', 'last')}" in evidence_of(verdict, 1)
    assert evidence_of(verdict, 0).endswith("(an echo)")


@pytest.mark.parametrize(
    ("program", "args", "count"),
    [("exits", ("0",), 0), ("ends_process", (), 0), ("returns_early", (), 2), ("returns_and_lingers", (), 2)],
)
def test_a_rank_that_is_through_leaves_the_others(judged, program, args, count):
    verdict = ends(judged(program, *args), "left early")
    assert verdict.summary == "rank 1 ended while others still had collectives to run"
    assert verdict.data["ranks"] == [1]
    assert evidence_of(verdict, 1).startswith(f"rank 1: ended after {count} collectives")
    assert f"all_reduce float32[1] at {line(program, 'waits', 0)}" in evidence_of(verdict, 0)
    parted = judged(program, *args).verdict("same sequence")
    assert (parted.kind, parted.data["index"]) == ("sequence", count)
    assert "never gets there" in evidence_of(parted, 1)


def test_a_rank_that_is_through_leaves_the_others_in_ddp(judged):
    both = judged("fewer_batches")
    verdict = ends(both, "left early")
    assert verdict.data["ranks"] == [1]
    assert line("fewer_batches", "waits", 0) in evidence_of(verdict, 0)
    parted = both.verdict("same sequence")
    assert parted.kind == "sequence"
    assert parted.data["calls"][0] > parted.data["calls"][1]


def test_where_a_script_left_off_is_told(judged):
    assert line("exits", "cause") in evidence_of(ends(judged("exits", "0"), "left early"), 1)


HANGS = [
    ("sleeps", 2),
    ("other_collective", 2),
    ("other_branch", 2),
    ("other_order", 2),
    ("never_joins", 2),
    ("hangs_in_ddp", 2),
    ("in_subgroup", 4),
]


@pytest.mark.parametrize(("program", "nproc"), HANGS)
def test_a_hang_is_told_in_time_with_the_place_of_each_rank(judged, program, nproc):
    both = judged(program, nproc=nproc)
    verdict = ends(both, "hang")
    assert both.run.stuck
    for rank in range(nproc):
        assert line(program, "waits", rank) in evidence_of(verdict, rank)
        assert line(program, "waits", rank) in f"{verdict.data['waits'][rank][0]} "


PARTED = [
    ("sleeps", 2, 0, ["all_reduce float32[1]", None]),
    ("other_collective", 2, 0, ["broadcast float32[1]", "all_reduce float32[1]"]),
    ("other_branch", 2, 0, ["all_reduce float32[1]", "barrier"]),
    ("other_order", 2, 1, ["all_reduce float32[1]", "broadcast float32[1]"]),
    ("hangs_in_ddp", 2, 0, [None, "barrier"]),
    ("in_subgroup", 4, 2, ["barrier", "barrier", None, "barrier"]),
]


@pytest.mark.parametrize(("program", "nproc", "index", "calls"), PARTED)
def test_ranks_that_wait_for_each_other_part_in_their_collectives(judged, program, nproc, index, calls):
    verdict = judged(program, nproc=nproc).verdict("same sequence")
    assert (verdict.outcome, verdict.data["index"]) == (Outcome.FAILED, index)
    assert verdict.data["calls"] == dict(enumerate(calls))
    assert all(line(program, "waits", rank) in evidence_of(verdict, rank) for rank in range(nproc))


@pytest.mark.parametrize(("program", "nproc"), [("two_lines", 2), ("two_lines", 3), ("own_groups", 3)])
def test_right_collectives_pass(judged, program, nproc):
    both = judged(program, nproc=nproc)
    assert both.ended_well
    assert both.verdict("same sequence").outcome is Outcome.PASSED


# For each way to log: how it fails, and in which metric.
LOGS = [
    ("mean", "", ""),
    ("share", "metric", "loss"),
    ("mean on main", "", ""),
    ("share on main", "metric", "loss"),
    ("extra on main", "", ""),
    ("clock", "", ""),
    ("machine", "", ""),
    ("machine and share", "metric", "loss"),
    ("nan", "", ""),
    ("nan on one", "metric", "ratio"),
]


@pytest.mark.parametrize(("how", "way", "name"), LOGS)
def test_a_metric_is_that_of_all_ranks(judged, how, way, name):
    both = judged("logs", how)
    assert both.ended_well
    verdict = both.verdict("same metric")
    assert (verdict.kind, verdict.outcome) == (way, Outcome.FAILED if way else Outcome.PASSED), verdict
    assert both.passed == (not way)
    if way:
        assert [*verdict.data["metrics"]] == [name]
        assert verdict.evidence[0].startswith(f"{name}, log no. 1: rank 0: ")
        assert "[logs.py:" in verdict.evidence[0]


def test_what_is_not_the_same_twice_on_a_rank_is_not_compared_between_ranks(judged):
    for how in ("machine", "machine and share"):
        evidence = judged("logs", how).verdict("same metric").evidence
        assert "dt: not compared, as the same rank has another one when it runs again" in evidence


@pytest.mark.parametrize(("how", "way"), [("quietly", ""), ("with an override", ""), ("and its own", "metric")])
def test_what_trainer_itself_logs_last_is_of_one_rank(judged, how, way):
    """It sums the losses of this rank since the last log; what the program logs under that name is judged."""
    both = judged("closing_log", how)
    assert both.ended_well
    last = [next(log for log in rank.logs[::-1] if "train_loss" in log.values) for rank in both.run.ranks]
    assert last[0].values["train_loss"] != last[1].values["train_loss"]
    assert all(log.of_one_rank == ("train_loss",) for log in last)
    verdict = both.verdict("same metric")
    assert verdict.kind == way, verdict
    assert [*verdict.data["metrics"]] == (["train_loss"] if way else [*verdict.data["metrics"]])
    assert both.passed == (not way)


def test_the_evidence_of_a_metric_is_its_values_and_the_error(judged):
    data = judged("logs", "share").verdict("same metric").data["metrics"]["loss"]
    here, there = data["values"]
    assert here != there
    assert data["mean"] == pytest.approx((here + there) / 2)
    assert data["error"] == pytest.approx(abs(here - there) / 2)
    logged = judged("logs", "mean").run.ranks
    assert [rank.logs[data["call"]].values["loss"] for rank in logged] == pytest.approx([data["mean"]] * 2, rel=1e-5)


def test_one_rank_is_compared_with_itself_on_the_share_of_the_next(judged):
    own, moved = judged("logs", "share on main").verdict("same metric").data["metrics"]["loss"]["values"]
    both = judged("logs", "share").verdict("same metric").data["metrics"]["loss"]["values"]
    assert [own, moved] == both


def test_a_metric_of_one_rank_whose_share_cannot_be_moved_is_not_compared(judged):
    verdict = judged("logs", "share on main", "by hand").verdict("same metric")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "1 metric that one rank logs, not compared" in verdict.summary
    compared = judged("logs", "mean on main").verdict("same metric")
    assert "1 that one rank logs, the same whichever share that rank reads" in compared.summary


def test_what_is_no_number_is_no_metric(judged):
    assert judged("logs", "text").verdict("same metric").outcome is Outcome.UNKNOWN


def test_not_a_number_is_kept(judged):
    logged = judged("logs", "nan").run.ranks[0].logs
    assert logged and all(math.isnan(log.values["ratio"]) for log in logged)


def test_a_right_training_loop_passes_all(judged):
    both = judged("logs", "mean")
    outcomes = {verdict.oracle: verdict.outcome for verdict in both.verdicts}
    assert outcomes.pop("true value") is Outcome.UNKNOWN  # no run on one process to compare with
    assert outcomes.pop("one writer") is Outcome.UNKNOWN  # it writes no files
    assert outcomes.pop("own share") is Outcome.UNKNOWN  # its few rows are identical
    assert outcomes.pop("own device") is Outcome.UNKNOWN  # it asks for the CPU
    assert set(outcomes.values()) == {Outcome.PASSED}
    assert "DDP's own" in both.verdict("same sequence").summary


def test_weights_that_ddp_does_not_keep_the_same_are_told(judged):
    both = judged("unsynchronised", "with DDP")
    verdict = both.verdict("same training")
    assert (verdict.outcome, verdict.kind) == (Outcome.FAILED, "weights")
    assert [verdict.oracle for verdict in both.verdicts if verdict.failed] == ["same training"]
    assert all("norm of all weights" in evidence_of(verdict, rank) for rank in (0, 1))


def test_weights_that_are_each_ranks_own_may_differ(judged):
    both = judged("unsynchronised", "without DDP")
    assert both.run.ranks[0].weights != both.run.ranks[1].weights
    assert both.verdict("same training").outcome is Outcome.UNKNOWN


def test_a_program_is_the_same_on_one_process_with_the_batches_of_all(launch, server, tmp_path):
    session = Session(launch, tmp_path, start=server)
    for how, outcome in (("mean", Outcome.PASSED), ("share", Outcome.FAILED)):
        program = subject("on_one_too", how)
        verdict = session.judge(program, how, session.one_process(program)).verdict("true value")
        assert verdict.outcome is outcome, verdict

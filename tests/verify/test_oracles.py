"""The verdicts of oracles on invented runs, and when two numbers are equal."""

from __future__ import annotations

from math import inf, nan

import pytest

from trl_lint.verify.oracles import (
    logged_metrics,
    metrics,
    sequence,
    single_writer,
    termination,
    training,
    true_value,
)
from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, BETWEEN_RUNS, is_same
from trl_lint.verify.record.traces import Call, End, Log, NativeCall, RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import Outcome

LOST = "[pair.cc:537] Read error: Connection reset by peer."
LATE = "[unbound_buffer.cc:78] Timed out waiting 3000ms for recv operation to complete"


def call(number=0, name="all_reduce", shape=(2,), group=None, op="SUM", dtype="float32", line=1):
    at = (SourcePlace("/project/train.py", line, "main"),)
    return Call(number, name, group, op, dtype, None if shape is None else [*shape], "cpu", at)


def rank(number, *calls, end=None, **fields):
    return RankRecord(number, calls=list(calls), done={each.number for each in calls}, end=end or End(0, 0), **fields)


def logging(number, *logs, **fields):
    return rank(number, logs=[Log("wandb.log", values, ()) for values in logs], **fields)


def raised(number, time, said, error="RuntimeError"):
    return rank(number, end=End(time, 1, error, said, group=said if error == "RuntimeError" else ""))


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "same"),
    [
        (1.0, 1.0, 0.0, True),
        (1.0, 1.0 + 1e-7, 0.0, False),
        (1.0, 1.0 + 1e-6, BETWEEN_RANKS, True),
        (1.0, 1.001, BETWEEN_RANKS, False),
        (1e6, 1e6 + 1, BETWEEN_RANKS, True),
        (0.0, 1e-12, BETWEEN_RANKS, False),
        (nan, nan, 0.0, True),
        (nan, 1.0, BETWEEN_RUNS, False),
        (inf, inf, 0.0, True),
        (inf, -inf, BETWEEN_RUNS, False),
        (inf, 1.0, BETWEEN_RUNS, False),
        (0.0312, 0.0313, BETWEEN_RUNS, True),  # as Trainer rounds
        (0.0312, 0.0314, BETWEEN_RUNS, False),
        (0.0312, 0.0313, BETWEEN_RANKS, False),
        (0.03121, 0.03131, BETWEEN_RUNS, False),
    ],
)
def test_same_numbers(a, b, tolerance, same):
    assert is_same(a, b, tolerance) is is_same(b, a, tolerance) is same


def test_what_is_left_of_large_numbers_may_differ_by_their_rounding():
    assert not is_same(0.0, 1e-6, BETWEEN_RANKS)
    assert is_same(0.0, 1e-6, BETWEEN_RANKS, scale=100.0)


@pytest.mark.parametrize(
    ("members", "cut_short", "index"),
    [
        ([[call()], [call()]], False, None),
        ([[call(line=1)], [call(line=2)]], False, None),
        ([[call(op="SUM")], [call(op="MAX")]], False, 0),
        ([[call(dtype="float32")], [call(dtype="int64")]], False, 0),
        ([[call(), call(shape=(2,))], [call(), call(shape=(3,))]], False, 1),
        ([[call(name="scatter", shape=(2,))], [call(name="scatter", shape=(3,))]], False, None),
        ([[call(), call()], [call()]], False, 1),
        ([[call(), call()], [call()]], True, None),
        ([[call(), call(name="barrier")], [call(name="barrier")]], True, 0),
        ([[call()], [call()], [call(name="broadcast")]], False, 0),
        ([[], []], False, None),
    ],
)
def test_the_first_call_in_which_ranks_part(members, cut_short, index):
    assert sequence.first_difference(dict(enumerate(members)), cut_short) == index


def test_groups_are_compared_each_by_itself():
    run = Run([rank(0, call(0), call(1, group=(0, 1))), rank(1, call(0, group=(0, 1)), call(1)), rank(2, call(0))])
    assert sequence.judge(run).outcome is Outcome.PASSED
    run.ranks[1].calls.pop(0)
    verdict = sequence.judge(run)
    assert verdict.summary == "the ranks diverge at collective no. 1 of the group [0, 1]"
    assert [*verdict.data["calls"]] == [0, 1]


def test_ddps_own_collectives_are_compared_where_nobody_was_cut_short():
    run = Run([rank(0, native=[NativeCall("all_reduce", [[4]])]), rank(1, native=[NativeCall("all_reduce", [[5]])])])
    assert sequence.judge(run).kind == "sequence"
    assert sequence.judge(run, cut_short=True).outcome is Outcome.PASSED
    run.ranks[1].native = [*run.ranks[0].native]
    assert sequence.judge(run).outcome is Outcome.PASSED
    run.ranks[0].native = run.ranks[1].native = []
    assert sequence.judge(run).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("ranks", "way", "named"),
    [
        ([raised(0, 2, LOST), raised(1, 1, "no rows", "ValueError")], "exception", [1]),
        ([raised(0, 1, LOST), raised(1, 2, "no rows", "ValueError")], "exception", [1]),
        ([raised(0, 2, LATE), raised(1, 1, "no rows", "ValueError")], "exception", [1]),
        ([raised(0, 1, LATE), raised(1, 2, "cleaning up failed", "ValueError")], "hang", None),
        ([raised(0, 1, LATE), raised(1, 1, LATE)], "hang", None),
        ([raised(0, 1, LATE), raised(1, 2, LOST)], "hang", None),
        ([raised(0, 1, LOST, "ConnectionResetError"), raised(1, 2, LOST)], "exception", [0]),
        ([raised(0, 1, LATE, "ReadTimeout"), raised(1, 2, LOST)], "exception", [0]),
        ([raised(0, 1, LATE), rank(1)], "left early", [1]),
        ([RankRecord(0), raised(1, 2, "no rows", "ValueError")], "exception", [1]),  # stopped before it could report
        ([raised(0, 1, LOST), rank(1), rank(2)], "left early", [1, 2]),
        ([raised(0, 1, LOST), raised(1, 1, LOST)], "left early", []),
        ([raised(0, 3, LOST), raised(2, 2, "no", "KeyError"), raised(1, 1, "no", "KeyError")], "exception", [1, 2]),
    ],
)
def test_the_first_cause(ranks, way, named):
    verdict = termination.judge(Run(ranks))
    assert (verdict.kind, verdict.data.get("ranks")) == (way, named)


def test_a_rank_outside_of_the_group_that_waits_has_not_left_early():
    waiting = [raised(number, 1, LATE) for number in (1, 2)]
    for each in waiting:
        each.calls = [call(group=(1, 2))]
        each.done = set()
    assert termination.judge(Run([rank(0), *waiting])).kind == "hang"


def test_a_watchdog_of_nccl_that_aborts_is_a_hang():
    said = (
        "E1120 [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE)\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG ID 0 PG GUID 0 Rank 0] Process group watchdog thread terminated with exception: [Rank 0] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE)\n"
    )
    gave_up = RankRecord(0, output=said, calls=[call()], exit=-6, exit_time=1)
    assert termination.judge(Run([gave_up, RankRecord(1, exit=-9, asked_to_stop=True)])).kind == "hang"


def test_what_a_script_printed_before_it_aborted_is_no_hang():
    said = (
        "retry: the server timed out after 5 s\nterminate called after throwing an instance of 'c10::Error'\n"
        "  what():  out of range\n"
    )
    assert (
        termination.judge(
            Run([RankRecord(0, output=said, exit=-6, exit_time=1), RankRecord(1, exit=-9, asked_to_stop=True)])
        ).kind
        == "abort"
    )


def test_metrics_are_compared_by_how_many_came_before_them():
    run = Run([logging(0, {"first": 1.0}, {"loss": 2.0}, {"loss": 3.0}), logging(1, {"loss": 2.0}, {"loss": 3.0})])
    assert [metric.name for metric in metrics.one_sided(run)] == ["first"]
    assert metrics.judge(run).outcome is Outcome.PASSED
    run.ranks[1].logs.reverse()
    verdict = metrics.judge(run)
    assert verdict.data["metrics"]["loss"]["values"] == [2.0, 3.0]


@pytest.mark.parametrize(
    "name",
    [
        *("step_time", "train_runtime", "perf/tokens_per_second", "time/step", "gpu memory", "samples per_second"),
        *("profiling/Time taken: GRPOTrainer._prepare_inputs", "tokens_per_sec", "samples/sec", "tok/s", "elapsed"),
        *("walltime", "perf/Throughput", "step_ms", "cuda_max_allocated"),
    ],
)
def test_what_the_clock_says_may_differ(name):
    run = Run([logging(0, {name: 1.0, "loss": 1.0}), logging(1, {name: 2.0, "loss": 1.0})])
    assert metrics.judge(run).data["metrics"] == ["loss"]


@pytest.mark.parametrize("name", ["loss", "times_clipped", "speedup", "rewards/timeliness", "memorised"])
def test_names_that_look_like_a_clocks_are_compared(name):
    assert metrics.judge(Run([logging(0, {name: 1.0}), logging(1, {name: 2.0})])).kind == "metric"


def test_a_run_with_moved_shares_that_failed_tells_nothing():
    run = Run([logging(0, {"loss": 1.0}), logging(1)])
    moved = Run([logging(0, {"loss": 2.0}, moved=True), logging(1, moved=True)])
    assert metrics.judge(run, moved).kind == "metric"
    moved.ranks[1].end = None
    verdict = metrics.judge(run, moved)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "not compared" in verdict.summary


def test_moved_shares_are_those_of_the_same_training():
    """Dropout on other rows, or a script that is not reproducible, changes the losses as well."""
    run = Run([logging(0, {"x": 1.0}, losses=[1.0]), logging(1, losses=[2.0])])
    moved = Run([logging(0, {"x": 2.0}, losses=[2.0], moved=True), logging(1, losses=[1.0], moved=True)])
    assert metrics.judge(run, moved).kind == "metric"
    moved.ranks[0].losses = [2.1]
    assert metrics.judge(run, moved).outcome is Outcome.UNKNOWN


def twice(first, second, losses=((1.0,), (1.0,))):
    """The metrics that differ between two runs: two ranks log these values in one run and in the other."""
    runs = [
        Run([logging(number, *({"x": value} for value in values), losses=[*each]) for number, values in enumerate(run)])
        for run, each in zip((first, second), losses, strict=True)
    ]
    return [name for _, name in logged_metrics.unsteady(*runs)]


@pytest.mark.parametrize(
    ("first", "second", "steady"),
    [
        ([[1.0, 2.0], [1.5, 2.5]], [[1.0, 2.0], [1.5, 2.5]], True),
        ([[1.0], [1.5]], [[1.0 + 1e-15], [1.5]], True),
        ([[nan], [1.0]], [[nan], [1.0]], True),
        ([[0.551], [0.541]], [[0.5511], [0.541]], False),
        ([[1.0, 2.0], [1.5, 2.5]], [[1.0, 2.0], [1.5, 2.6]], False),
        ([[1.0, 2.0], [1.5, 2.5]], [[1.0, 2.0], [1.5]], False),
        ([[1.0], []], [[], [1.0]], False),
        ([[1.0], []], [[1.0], []], True),
    ],
)
def test_a_metric_that_follows_from_data_is_the_same_twice(first, second, steady):
    assert twice(first, second) == ([] if steady else ["x"])


@pytest.mark.parametrize(
    ("first", "second", "steady"),
    [
        ([[1.0, 2.0], [1.5, 2.5]], [[1.001, 2.01], [1.501, 2.51]], True),
        ([[1.0, 2.0], [1.5, 2.5]], [[1.3, 1.8], [1.2, 2.9]], False),
        ([[1.0], []], [[1.0001], []], True),
        ([[1.0], []], [[1.1], []], False),
    ],
)
def test_where_training_does_not_repeat_the_ranks_must_differ_by_more(first, second, steady):
    assert twice(first, second, losses=[(1.0,), (1.0001,)]) == ([] if steady else ["x"])


def test_what_is_not_the_same_twice_fails_nothing_and_is_named():
    run = Run([logging(0, {"dt": 1.0, "loss": 1.0}), logging(1, {"dt": 2.0, "loss": 1.0})])
    assert metrics.judge(run).kind == "metric"
    run.unsteady = frozenset({("wandb.log", "dt")})
    verdict = metrics.judge(run)
    assert (verdict.outcome, verdict.data["metrics"]) == (Outcome.PASSED, ["loss"])
    assert "dt: not compared" in verdict.evidence[0]
    for rank in run.ranks:
        rank.logs = [Log("wandb.log", {"dt": 1.0}, ())]
    assert "dt: not compared" in metrics.judge(run).summary


def test_a_value_that_a_library_computes_rank_by_rank_may_differ():
    run = Run([logging(0, {"loss": 1.0}), logging(1, {"loss": 1.0})])
    for rank in run.ranks:
        rank.logs.append(Log("Trainer.log", {"train_loss": float(rank.number)}, (), ("train_loss",)))
    assert metrics.judge(run).outcome is Outcome.PASSED
    run.ranks[0].logs.append(Log("Trainer.log", {"train_loss": 1.0}, ()))
    run.ranks[1].logs.append(Log("Trainer.log", {"train_loss": 2.0}, ()))
    assert [*metrics.judge(run).data["metrics"]] == ["train_loss"]


@pytest.mark.parametrize("name", ["loss/rank0", "gpu_1/accuracy", "process 3", "tokens_per_device"])
def test_a_value_that_says_whose_it_is_may_differ(name):
    run = Run([logging(0, {name: 1.0, "loss": 1.0}), logging(1, {name: 2.0, "loss": 1.0})])
    assert metrics.judge(run).data["metrics"] == ["loss"]


def test_infinities_have_no_mean():
    verdict = metrics.judge(Run([logging(0, {"x": inf}), logging(1, {"x": -inf})]))
    assert verdict.kind == "metric" and "the mean is nan" in verdict.evidence[0]


def test_a_scripts_own_runtime_error_is_its_own_whatever_it_says():
    said = "reward server: Connection refused, timed out after 5 s"
    run = Run([rank(0, end=End(1, 1, "RuntimeError", said)), rank(1, end=End(2, 1, "ValueError", "x"))])
    assert termination.judge(run).summary == f"rank 0: RuntimeError: {said}"


def test_an_end_without_words_is_told_in_the_last_that_was_printed():
    run = Run([rank(0, output="usage: …\nerror: --model is required\n", end=End(1, 2)), rank(1)])
    assert termination.judge(run).summary == "rank 0: exit status 2: error: --model is required"


def test_beyond_what_the_flight_recorder_keeps_nothing_is_compared():
    ranks = [rank(number, call(), native=[NativeCall("all_reduce", [[number]])]) for number in (0, 1)]
    assert sequence.judge(Run(ranks)).kind == "sequence"
    for each in ranks:
        each.native_total = sequence.MOST_KEPT
    assert sequence.judge(Run(ranks)).outcome is Outcome.PASSED


def trained(number, *losses, weights=((1.0, 2.0),), **fields):
    return rank(number, losses=list(losses), weights=[list(each) for each in weights], replicas=(0,), **fields)


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        (trained(0, 1.0, 0.5), Outcome.PASSED),
        (trained(0, 1.0, 0.6), Outcome.FAILED),
        (trained(0, 1.0), Outcome.FAILED),
        (trained(0, 1.0, 0.5, weights=[(1.0, 2.1)]), Outcome.FAILED),
        (trained(0, 1.0, 0.5, weights=[(1.0, 2.0), (1.0, 2.0)]), Outcome.FAILED),
        (trained(0, 1.0, 0.5, end=End(0, 1, "ValueError")), Outcome.UNKNOWN),
    ],
)
def test_a_fix_trains_the_same(after, outcome):
    assert training.judge_pair(Run([trained(0, 1.0, 0.5)]), Run([after])).outcome is outcome


def test_ranks_train_the_same_weights():
    run = Run([trained(0), trained(1)])
    assert training.judge_ranks(run).outcome is Outcome.PASSED
    run.ranks[1].weights = [[1.0, 2.001]]
    assert training.judge_ranks(run).kind == "weights"
    run.ranks[1].replicas = (1,)
    assert training.judge_ranks(run).outcome is Outcome.UNKNOWN
    run.ranks[1].replicas = None
    assert training.judge_ranks(run).outcome is Outcome.UNKNOWN


@pytest.mark.torch
@pytest.mark.parametrize(("how", "outcome"), [("zero", Outcome.PASSED), ("own", Outcome.UNKNOWN)])
def test_ranks_that_update_parts_of_the_weights_are_no_failure(judged, how, outcome):
    found = judged("parts_of_weights", how)
    assert found.passed and found.verdict(training.ORACLE).outcome is outcome, found.verdicts
    assert found.verdict(single_writer.ORACLE).outcome is Outcome.UNKNOWN, "it wrote no file"
    assert [len(rank.grad_norms) for rank in found.run.ranks] == [2, 2]


@pytest.mark.parametrize(
    ("single", "outcome"),
    [
        (trained(0, logs=[Log("wandb.log", {"error": 1.0}, ())]), Outcome.PASSED),
        (trained(0, logs=[Log("wandb.log", {"error": 1.1}, ())]), Outcome.FAILED),
        (trained(0, logs=[Log("wandb.log", {"error": 1.1}, ())], weights=[(1.5, 2.0)]), Outcome.UNKNOWN),
        (trained(0, logs=[Log("wandb.log", {"error": 1.1}, ())], end=End(0, 1, "ValueError")), Outcome.UNKNOWN),
        (trained(0, logs=[Log("wandb.log", {"other": 1.1}, ())]), Outcome.UNKNOWN),
    ],
)
def test_a_value_is_compared_with_one_process_that_trains_the_same(single, outcome):
    run = Run([trained(number, logs=[Log("wandb.log", {"error": 1.0}, ())]) for number in (0, 1)])
    assert true_value.judge(run, Run([single])).outcome is outcome

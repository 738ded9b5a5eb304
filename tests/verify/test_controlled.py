"""*true value* of controlled runs: what is equal, what is not, and what is left out because of evidence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from marks import subject
from once import once

from trl_lint.verify.oracles import controlled, true_value
from trl_lint.verify.proof.controlled import Reference
from trl_lint.verify.proof.controlled import true_value as judged_controlled
from trl_lint.verify.proof.session import Session
from trl_lint.verify.record.traces import End, Log, RankRecord, Run
from trl_lint.verify.record.verdicts import Outcome

WEIGHTS = [[1.0, 1.0]]
# Two ranks' losses in two steps, and what one process has instead: the mean over all tokens.
LOSSES, TOGETHER = ([1.0, 2.0], [3.0, 4.0]), [1.8, 2.9]


def rank_of(number, metrics, losses, **fields):
    """A rank that logs the same metrics in each step."""
    logs = [Log("wandb.log", metrics, ()) for _ in losses]
    rank = RankRecord(number, logs=logs, losses=[*losses], weights=WEIGHTS, end=End(0, 0), **fields)
    rank.world_size = 2
    return rank


def run_of(losses=LOSSES, /, **metrics):
    return Run([rank_of(number, metrics, each) for number, each in enumerate(losses)])


def one(losses=TOGETHER, /, **metrics):
    return Run([rank_of(0, metrics, losses)])


def judge(run, single, doubled):
    return controlled.judge(run, single, lambda: doubled, lambda name: True)


def test_what_one_process_has_as_well_passes_without_another_run():
    def asked():
        raise AssertionError

    verdict = controlled.judge(run_of(accuracy=0.5), one(accuracy=0.5), asked, lambda name: True)
    assert verdict.outcome is Outcome.PASSED


def test_a_mean_of_means_fails_though_the_losses_are_others():
    verdict = judge(run_of(accuracy=0.5, right=0.7), one(accuracy=0.51, right=0.7), run_of(accuracy=0.5, right=0.7))
    assert verdict.failed and [*verdict.data["metrics"]] == ["accuracy"]


@pytest.mark.parametrize("factor", [1, 2])
def test_means_stay_and_sums_double(factor):
    assert judge(run_of(rows=5.5), one(rows=6.5), run_of(rows=5.5 * factor)).failed


def test_what_is_neither_a_mean_nor_a_sum_is_left_out():
    verdict = judge(run_of(spread=0.5), one(spread=0.6), run_of(spread=0.55))
    assert verdict.outcome is Outcome.UNKNOWN and "no mean or sum over rows" in verdict.summary


def test_rounding_is_left_out():
    run, single = run_of(margin=0.0100), one(margin=0.0101)
    assert judge(run, single, run_of(margin=0.01001)).outcome is Outcome.UNKNOWN
    assert judge(run, single, run_of(margin=0.0100001)).failed


def test_what_is_left_of_large_numbers_is_off_by_their_rounding():
    def logged(run, margin):
        for rank in run.ranks:
            rank.logs = [Log("wandb.log", {"margin": margin, "logps": -50.5}, ())]
        return run

    assert (
        judge(logged(run_of(), 8.818e-5), logged(one(), 8.817e-5), logged(run_of(), 8.818e-5)).outcome is Outcome.PASSED
    )
    assert judge(logged(run_of(), 8.8e-3), logged(one(), 8.7e-3), logged(run_of(), 8.8e-3)).failed


def test_the_loss_that_is_trained_on_is_left_out():
    run = Run([rank_of(number, {}, each) for number, each in enumerate(LOSSES)])
    single, twice = one(), Run([rank_of(number, {}, each) for number, each in enumerate(LOSSES)])
    for each, values in ((run, (2.0, 3.0)), (twice, (2.0, 3.0)), (single, (1.8, 2.9))):
        for rank in each.ranks:
            rank.logs = [Log("wandb.log", {"train/loss": value}, ()) for value in values]
    verdict = judge(run, single, twice)
    assert verdict.outcome is Outcome.UNKNOWN and "the losses that are trained on" in verdict.summary


def test_a_loss_that_depends_on_chance_or_on_its_batch_says_nothing():
    verdict = judge(run_of(accuracy=0.5), one(accuracy=0.6), run_of(([1.1, 2.0], [3.0, 4.0]), accuracy=0.5))
    assert verdict.outcome is Outcome.UNKNOWN and "chance" in verdict.summary


def test_a_loss_of_one_process_beyond_those_of_the_ranks_says_nothing():
    """A model without a mask computes another result for a row with more padding."""
    verdict = judge(run_of(accuracy=0.5), one([1.8, 4.1], accuracy=0.6), run_of(accuracy=0.5))
    assert verdict.outcome is Outcome.UNKNOWN and "padded" in verdict.summary


def test_a_model_that_mixes_rows_says_nothing():
    run = run_of(accuracy=0.5)
    run.ranks[0].mixes_rows = True
    assert judge(run, one(accuracy=0.6), run_of(accuracy=0.5)).outcome is Outcome.UNKNOWN


def test_low_precision_is_compared_as_runs_are():
    run = run_of(accuracy=0.5)
    assert judge(run, one(accuracy=0.5002), run_of(accuracy=0.5)).failed
    run.ranks[0].low_precision = True
    assert judge(run, one(accuracy=0.5002), run_of(accuracy=0.5)).outcome is Outcome.PASSED


# --- which rows are distributed -------------------------------------------------------------------------


def dealt_run(*ranks, trained=True, data=None):
    """Ranks by the rows of their batches, in one pass over one dataset."""
    found = []
    for number, batches in enumerate(ranks):
        rank = rank_of(number, {"accuracy": 0.5}, [1.0])
        rank.dealt, rank.trained = {(0, 1): [*batches]}, {0} if trained else set()
        rank.data_sets = {0: data[number] if data else "all"}
        found.append(rank)
    return Run(found)


class Started:
    """Replaces a session: records which rows are requested, and returns one run for each label."""

    def __init__(self, **runs):
        self.runs, self.rows = runs, {}

    def __call__(self, label, conditions, *, alone=False, grouped=False):
        name = "_".join([*label.rpartition(", ")[2].split(), *["alone"] * alone, *["grouped"] * grouped])
        self.rows[name] = json.loads(Path(conditions.rows).read_text()) if conditions.rows else None
        return self.runs[name]


def judged(started, tmp_path):
    return judged_controlled(started, "as it is", Reference(started, tmp_path), lambda name: True, frozenset())


def test_one_process_reads_what_all_ranks_read(tmp_path):
    run = dealt_run([[4, 1], [2, 0]], [[3, 5], [4, 1]])
    alone = Run([rank_of(0, {"accuracy": 0.5}, [1.0], data_sets={0: "all"})])
    started = Started(controlled=run, controlled_alone=alone)
    assert judged(started, tmp_path).outcome is Outcome.PASSED
    assert started.rows["controlled_alone"] == [{"0": {"1": [[4, 1, 3, 5], [2, 0, 4, 1]]}}]


def test_a_row_that_fills_up_the_end_of_an_evaluation_counts_once(tmp_path):
    run = dealt_run([[0, 1], [4, 0]], [[2, 3], [1, 2]], trained=False)
    alone = Run([rank_of(0, {"accuracy": 0.5}, [1.0], data_sets={0: "all"})])
    started = Started(controlled=run, controlled_alone=alone)
    judged(started, tmp_path)
    assert started.rows["controlled_alone"] == [{"0": {"1": [[0, 1, 2, 3], [4]]}}]


def test_where_one_process_fails_rows_are_dealt_otherwise(tmp_path):
    run = dealt_run([[0, 1], [4, 5]], [[2, 3], [6, 7]])
    stopped = Run([RankRecord(0, end=End(0, 1, "KeyError", "RANK"))])
    other = dealt_run([[0, 2], [4, 6]], [[1, 3], [5, 7]])
    started = Started(controlled=run, controlled_alone=stopped, controlled_alone_grouped=stopped, dealt_otherwise=other)
    assert judged(started, tmp_path).outcome is Outcome.PASSED
    assert started.rows["dealt_otherwise"] == [{"0": {"1": [[0, 2], [4, 6]]}}, {"0": {"1": [[1, 3], [5, 7]]}}]


def test_ranks_with_data_of_their_own_are_not_compared(tmp_path):
    started = Started(controlled=dealt_run([[0, 1]], [[2, 3]], data=["one", "other"]))
    assert "data of its own" in judged(started, tmp_path).summary


# --- a program ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verdict_of(launch, server, tmp_path_factory):
    def made(name):
        def run(folder):
            session = Session(launch, folder / "traces", start=server)
            program = subject(name)
            program = replace(program, program_files=(Path(program.script),))
            return session.judge(program, "as it is", session.one_process(program)).verdict(true_value.ORACLE)

        return once(tmp_path_factory, f"controlled {name}", run)

    return made


@pytest.mark.torch
def test_what_is_printed_is_held_against_one_process_where_all_ranks_have_it(verdict_of):
    verdict = verdict_of("printed_metrics")
    (name,) = verdict.data["metrics"]
    assert "wrong = accelerator.reduce" in name
    (left_out,) = [line for line in verdict.evidence if "not compared" in line]
    assert "the norm of the gradients" in left_out


@pytest.mark.torch
def test_a_shuffled_loop_with_dropout_and_no_seed(verdict_of):
    token_metrics = verdict_of("token_metrics")
    assert [*token_metrics.data["metrics"]] == ["mean_of_means"]
    left_out = [line for line in token_metrics.evidence if "not compared" in line]
    assert [line.partition(":")[0] for line in left_out] == ["spread", "train/loss"]

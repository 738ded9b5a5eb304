"""Sharded models: what is read from a shard, what the ranks gather together, and what is trained."""

from __future__ import annotations

import re

import pytest
from marks import PROGRAMS, line

from trl_lint.verify import reports
from trl_lint.verify.oracles import sequence, training, whole_parameters
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record import sharded
from trl_lint.verify.record.sharded import CopyRead, NumberRead
from trl_lint.verify.record.traces import End, Log, NativeCall, RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import Outcome

AT = (SourcePlace("/project/train.py", 3, "main"),)
LATER = (SourcePlace("/project/train.py", 9, "main"),)


def number(value: float, how: str = "norm 2", group: tuple[int, ...] = (0, 1), at=AT) -> NumberRead:
    return NumberRead(value, how, group, at)


def reading(*by_rank: list[NumberRead]) -> Run:
    return Run([RankRecord(rank, numbers_read=reads, end=End(0, 0)) for rank, reads in enumerate(by_rank)])


def copying(logged: dict[int, list[float]], copies: dict[int, list[CopyRead]]) -> Run:
    """Ranks that take copies and then log, once per log."""
    ranks = []
    for rank in sorted(copies):
        logs = [Log("wandb.log", {"norm": value}, AT) for value in logged.get(rank, ())]
        ranks.append(RankRecord(rank, logs=logs, copies_read=copies[rank], end=End(0, 0)))
    return Run(ranks)


# --- numbers of DTensors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "values", "whole"),
    [
        ("norm 2", (3.0, 4.0), 5.0),
        ("norm 1", (3.0, 4.0), 7.0),
        ("norm inf", (3.0, 4.0), 4.0),
        ("sum", (3.0, -1.0), 2.0),
        ("avg", (3.0, -1.0), 1.0),
        ("max", (3.0, 4.0), 4.0),
        ("min", (3.0, 4.0), 3.0),
        ("product", (3.0, 4.0), 12.0),
    ],
)
def test_parts_are_put_together_as_the_tensor_would(how, values, whole):
    verdict = whole_parameters.judge(reading(*([number(value, how)] for value in values)))
    assert (verdict.outcome, verdict.kind, verdict.at) == (Outcome.FAILED, "part", ("train.py:3 (main)",))
    assert f"of the whole it is {whole:g} [train.py:3 (main)]" in verdict.evidence[0]
    right = whole_parameters.judge(reading(*([number(whole, how, ())] for _ in values)))
    assert right.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "values",
    [(5.0, 0.0), (0.0, 0.0)],
    ids=["one rank has all of it", "nothing"],
)
def test_a_rank_that_has_all_of_it_is_right(values):
    run = reading(*([number(value)] for value in values))
    verdict = whole_parameters.judge(run)
    assert verdict.failed is (values[0] != values[1])  # the other rank has nothing, and takes that for the whole


def test_a_number_that_nobody_can_put_together_is_no_finding():
    for how in ("band", ""):
        assert whole_parameters.judge(reading([number(3.0, how)], [number(4.0, how)])).outcome is Outcome.PASSED


def test_a_read_of_one_rank_is_a_part_unless_it_is_nothing():
    assert "the others don't read it" in whole_parameters.judge(reading([number(3.0)], [])).evidence[0]
    assert whole_parameters.judge(reading([number(0.0)], [])).outcome is Outcome.PASSED


def test_reads_are_compared_one_by_one_and_told_once_a_line():
    first, second = [number(3.0), number(1.0), number(2.0, at=LATER)], [number(4.0), number(1.0), number(2.0, at=LATER)]
    verdict = whole_parameters.judge(reading(first, second))
    assert verdict.summary.startswith("2 numbers") and len(verdict.evidence) == 2
    assert "rank 0 has 3, rank 1 has 4; of the whole it is 5" in verdict.evidence[0]


def test_there_is_no_row_where_nothing_is_sharded():
    assert whole_parameters.judge(reading([], [])) is None


# --- local copies ---------------------------------------------------------------------------------------


def copy(norm: float, total: float = 1.0, size: int = 4, logs: int = 0, at=AT) -> CopyRead:
    return CopyRead(norm, total, size, 8, (0, 1), at, logs)


BOTH = {0: [copy(3.0), copy(3.0, logs=1)], 1: [copy(4.0), copy(4.0, logs=1)]}


@pytest.mark.parametrize(
    ("logged", "copies", "fails"),
    [
        ({0: [3.0, 3.0], 1: [4.0, 4.0]}, BOTH, True),
        ({0: [3.0, 3.0]}, BOTH, True),
        ({0: [9.0, 9.0]}, BOTH, True),  # squared
        ({0: [0.25, 0.25]}, BOTH, False),  # the mean of the shard and of the whole
        ({0: [5.0, 5.0], 1: [5.0, 5.0]}, BOTH, False),
        ({0: [3.0, 2.0]}, BOTH, False),  # in one log only
        ({0: [3.1, 3.1]}, BOTH, False),
        ({}, BOTH, False),
        ({0: [0.0]}, {0: [copy(0.0)], 1: [copy(4.0)]}, False),
        ({0: [3.0]}, {0: [copy(3.0)], 1: []}, True),  # the others don't read it, and there is more of it
        ({0: [3.0]}, {0: [copy(3.0, size=8)], 1: []}, False),
        ({0: [5.0]}, {0: [copy(3.0), copy(4.0, at=LATER)], 1: [copy(1.0), copy(1.0, at=LATER)]}, True),  # all together
    ],
)
def test_what_is_logged_of_local_copies(logged, copies, fails):
    verdict = whole_parameters.judge(copying(logged, copies))
    assert verdict.failed is fails, verdict


# --- programs -------------------------------------------------------------------------------------------


def _parts():
    text = (PROGRAMS / "sharded_wrong_reads.py").read_text(encoding="utf-8")
    return {
        mark[1]: number
        for number, each in enumerate(text.splitlines(), 1)
        if (mark := re.search(r"# part: (\w+)", each))
    }


@pytest.mark.torch
def test_each_wrong_read_is_told_with_its_line(judged):
    verdict = judged("sharded_wrong_reads").verdict(whole_parameters.ORACLE)
    assert verdict.kind == "part"
    told = {int(each) for line in verdict.evidence for each in re.findall(r"\[sharded_wrong_reads.py:(\d+) ", line)}
    assert told == set(_parts().values())


@pytest.mark.torch
def test_right_reads_pass(judged):
    found = judged("sharded_right_reads")
    assert found.passed, found.verdicts
    assert found.verdict(whole_parameters.ORACLE).outcome is Outcome.PASSED
    assert found.verdict(sequence.ORACLE).outcome is Outcome.PASSED


@pytest.mark.torch
def test_gradients_and_weights_of_sharded_models_are_the_whole_ones(judged):
    found = judged("sharded_right_reads")
    logged = [log.values["grad_norm"] for log in found.run.ranks[0].logs]
    for rank in found.run.ranks:
        assert rank.grad_norms == pytest.approx(logged, rel=1e-5)
        assert len(rank.weights) == 4 and rank.weights == found.run.ranks[0].weights
    assert found.verdict(training.ORACLE).summary == "each rank has its own part of the weights"
    compared = training.judge_pair(found.run, found.run)
    assert compared.summary.startswith("losses, gradient norms, weights unchanged")


@pytest.mark.torch
@pytest.mark.parametrize("program", ["sharded_state_on_one", "sharded_lengths"])
def test_what_not_all_ranks_gather_is_told_with_its_lines(judged, program):
    found = judged(program)
    assert found.verdict("ends").failed
    verdict = found.verdict(sequence.ORACLE)
    assert verdict.kind == "sequence"
    for rank in (0, 1):
        assert line(program, "waits", rank) in verdict.evidence[rank], verdict.evidence


@pytest.mark.torch
def test_generating_that_is_synchronised_passes(judged):
    """transformers does this for a model that FSDP manages, and FSDP forwards `generate`."""
    assert judged("sharded_lengths", "synchronised").passed


def test_a_report_names_what_was_emulated():
    rank = RankRecord(0, emulated="accelerate's FSDP on the CPU", end=End(0, 0))
    proof = Proof("train.py", [Column(Judged("as it is", Run([rank]), []), True)])
    assert reports.emulated(proof) == ["Emulated: accelerate's FSDP on the CPU."]


# --- what the traces say ---------------------------------------------------------------------------------


def test_shares_are_put_together_where_all_ranks_have_told_of_them():
    ranks = [
        RankRecord(0, grad_norms=[None, None], grad_shares=[[((0, 1), 3.0), ((), 12.0)], [((0, 1), 3.0)]]),
        RankRecord(1, grad_norms=[None], grad_shares=[[((0, 1), 4.0), ((), 12.0)]]),
    ]
    ranks[0].weights, ranks[0].weight_shares = [[3.0, 1.0], [2.0, 2.0]], [(0, 1), ()]
    ranks[1].weights, ranks[1].weight_shares = [[4.0, -2.0], [2.0, 2.0]], [(0, 1), ()]
    sharded.put_together(ranks)
    assert [rank.grad_norms for rank in ranks] == [[13.0, None], [13.0]]  # in the second step a shard is missing
    assert [rank.weights for rank in ranks] == [[[5.0, -1.0], [2.0, 2.0]]] * 2


def test_weights_of_which_a_part_is_missing_are_unknown():
    alone = RankRecord(0, weights=[[3.0, 1.0]], weight_shares=[(0, 1)])
    sharded.put_together([alone])
    assert alone.weights is None


def test_native_collectives_are_compared_group_by_group():
    def native(*rows):
        return [NativeCall(name, [[2]], group, AT) for name, group in rows]

    ends = {"end": End(0, 0)}
    run = Run([
        RankRecord(0, native=native(("all_gather", (0, 1)), ("all_reduce", None)), **ends),
        RankRecord(1, native=native(("all_reduce", None), ("all_gather", (0, 1))), **ends),
    ])  # fmt: skip
    assert sequence.judge(run).outcome is Outcome.PASSED
    run.ranks[1].native.pop()
    verdict = sequence.judge(run)
    assert "of the group [0, 1]" in verdict.summary
    assert verdict.evidence[0] == "rank 0: 1 of them, no. 1: all_gather [2] at train.py:3 (main)"
    assert verdict.evidence[1] == "rank 1: 0 of them"

"""The printed reports on proofs, in each format."""

from __future__ import annotations

import io
import json

import pytest

from trl_lint.findings import Finding, Position
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record import verdicts
from trl_lint.verify.record.traces import RankRecord, Run
from trl_lint.verify.reports import load

FINDING = Finding("TRL003", "unreduced-metric", "", "/p/train.py", Position(3, 5), Position(3, 9))


def judged(label: str, *, good: bool) -> Judged:
    end = verdicts.passed("ends", "all 2 ranks ran to their end")
    metric = verdicts.failed("same metric", "metric", "a|b: not the same", ["a|b: rank 0: 1, rank 1: 2"], x=[1.0])
    equal = verdicts.passed("same metric", "3 metrics, equal on all ranks")
    run = Run([RankRecord(0, world_size=2), RankRecord(1, world_size=2)], seconds=3.25)
    return Judged(label, run, [end, equal if good else metric])


def script() -> Proof:
    before, after = judged("as it is", good=False), judged("fixed", good=True)
    compared = verdicts.passed("same training", "losses, weights unchanged, to the bit")
    command = "trl-lint --fix --unsafe-fixes train.py"
    return Proof("train.py", [Column(before, False), Column(after, True)], compared, fixes=[FINDING], command=command)


def fixture(*, good: bool) -> Proof:
    broken = Column(judged("broken", good=not good), good, "metric")
    return Proof("rule/broken", [broken, Column(judged("fixed", good=True), True)], is_fixture=True)


def printed(name: str, *proofs: Proof) -> str:
    out = io.StringIO()
    report = load(name)(out, nproc=2)
    for proof in proofs:
        report.add(proof)
    report.close()
    return out.getvalue()


def test_a_script_stands_side_by_side():
    text = printed("text", script())
    head = next(line for line in text.splitlines() if "as it is" in line)
    assert "fixed (3.2 s)" in head
    words = " ".join(text.split())
    assert "FAILED (metric): a|b: not the same" in words and "a|b: rank 0: 1, rank 1: 2" in words
    assert "fixed: /p/train.py:3:5: TRL003 unreduced-metric" in words
    assert "before and after: losses, weights unchanged, to the bit" in words
    last = "It fails as it is and passes when fixed: run `trl-lint --fix --unsafe-fixes train.py`."
    assert text.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("columns", "last"),
    [
        ([True], "Nothing wrong was seen. That is no proof: a run only shows what it reaches."),
        ([False], "It fails, and trl-lint has no fix to try."),
        ([False, False], "It fails as it is, and fixed as well."),
    ],
)
def test_a_script_has_a_conclusion(columns, last):
    labels = ("as it is", "fixed")
    proof = Proof(
        "t.py", [Column(judged(label, good=good), good) for label, good in zip(labels, columns, strict=False)]
    )
    assert printed("text", proof).splitlines()[-1] == last


def test_a_machine_that_has_not_seen_all_says_so():
    proof = script()
    for run in proof.runs:
        run.ranks = run.ranks[:1]
    assert "Judged were the 1 rank of this machine, of 2" in printed("text", proof)


def test_fixtures_are_a_line_each():
    assert printed("text", fixture(good=True)).splitlines() == [
        "ok    rule/broken (broken): fails as it should: metric: a|b: not the same",
        "ok    rule/broken (fixed): passes: 3 metrics, equal on all ranks",
        "2 of 2 runs of 1 program on 2 processes came out as they should.",
    ]


def test_a_fixture_that_does_not_fail_is_wrong():
    lines = printed("text", fixture(good=False)).splitlines()
    assert lines[0].startswith("WRONG rule/broken (broken): passes, but should fail (metric)")
    assert lines[-1].startswith("1 of 2 runs")


def test_markdown_has_a_table_and_sections():
    lines = printed("markdown", script()).splitlines()
    assert "| train.py | as it is | fails: metric | a\\|b: not the same |" in lines
    assert "| train.py | fixed | passes | 3 metrics, equal on all ranks |" in lines
    assert "## train.py" in lines
    assert "| same metric | **no** | a\\|b: not the same<br>a\\|b: rank 0: 1, rank 1: 2 |" in lines


def test_json_has_it_all():
    document = json.loads(printed("json", script(), fixture(good=True)))
    first, second = document["subjects"]
    assert (document["version"], document["holds"], first["holds"], second["holds"]) == (1, False, False, True)
    assert first["runs"][0]["verdicts"][1] == {
        "oracle": "same metric",
        "outcome": "failed",
        "way": "metric",
        "summary": "a|b: not the same",
        "evidence": ["a|b: rank 0: 1, rank 1: 2"],
        "data": {"x": [1.0]},
    }
    assert first["compared"]["outcome"] == "passed"

"""How the accuracy benchmark combines findings, judgements and verdicts; and that nothing new is reported on trl."""

from __future__ import annotations

import pytest

from evaluation import accuracy
from evaluation.accuracy import (
    DEBATABLE,
    FALSE,
    REAL,
    UNJUDGED,
    Found,
    Judgement,
    Judgements,
    Place,
    failures,
    false_share,
    page,
)
from evaluation.corpora import TRANSFORMERS, TRL
from evaluation.history import Verdict
from evaluation.proof.cases import CASES
from evaluation.releases import IndexUnreachable
from trl_lint.findings import Applicability, Finding, Fix, Position

SITE = Verdict("site", "TRL003", "a release a.py:1", True, True)


def found(line: int, verdict: str, *, fix: Applicability | None = None, holds: bool = False) -> Found:
    place = Place(str(TRL), "TRL003", "trl/a.py", line)
    finding = Finding("TRL003", "unreduced-metric", "m", "a.py", Position(line, 1), Position(line, 2))
    if fix:
        finding = Finding(*vars_of(finding), fix=Fix(fix, "t", lambda: (), ""))
    return Found(place, finding, verdict, "as it says", holds=holds)


def vars_of(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.name, finding.message, finding.path, finding.start, finding.end


def test_one_in_twenty_may_be_false():
    real = [found(line, REAL) for line in range(19)]
    assert false_share([*real, found(20, FALSE)]) == 0.05
    assert not failures([SITE], [*real, found(20, FALSE)], [])
    assert "10% are false alarms" in failures([SITE], [*real[:9], found(20, FALSE)], [])


def test_what_is_not_judged_or_not_there_any_more_is_told():
    stale = Place(str(TRL), "TRL001", "trl/b.py", 7)
    new, old = failures([SITE], [found(3, UNJUDGED)], [stale])
    assert new == f"not judged: {TRL} trl/a.py:3 TRL003: m"
    assert old == f"judged, but not reported: {TRL} trl/b.py:7 TRL001"


@pytest.mark.parametrize(
    ("sites", "said"),
    [
        ({"TRL001": (9, 10), "TRL002": (10, 10)}, []),
        ({"TRL001": (7, 10), "TRL002": (90, 90)}, ["recall of TRL001 is 7/10"]),
        ({"TRL001": (8, 10), "TRL002": (8, 10)}, ["recall of all rules is 16/20"]),
    ],
)
def test_recall(sites, said):
    verdicts = [
        Verdict("site", rule, "", number < part, number < part)
        for rule, (part, whole) in sites.items()
        for number in range(whole)
    ]
    assert failures(verdicts, [], []) == said


@pytest.mark.parametrize("group", ["look-alike", "mended"])
def test_an_alarm_on_right_code_is_a_failure(group):
    assert failures([SITE, Verdict(group, "TRL003", "there", True, False)], [], []) == [
        "TRL003 reports right code: there"
    ]


def test_judgements_are_found_by_place_and_those_left_over_are_known(tmp_path):
    path = tmp_path / "judged.json"
    judged = '"verdict": "real", "why": "w", "proof": ["a case"]'
    row = '{"package": "%s", "rule": "TRL003", "file": "trl/a.py", "lines": [3, 4], ' + judged + "}"
    path.write_text(f"[{row % TRL}, {row % TRANSFORMERS}]", encoding="utf-8")
    judgements = Judgements.load(path)
    assert judgements.of(Place(str(TRL), "TRL003", "trl/a.py", 3)) == Judgement(REAL, "w", ("a case",))
    assert judgements.of(Place(str(TRL), "TRL003", "trl/a.py", 5)) == Judgement(UNJUDGED, "")
    assert [place.line for place in judgements.left([str(TRL)])] == [4]


def test_the_page_names_what_was_found_and_what_was_missed():
    missed = Verdict("site", "TRL003", "a release b.py:2", False, False, "too far away")
    text = page(
        [SITE, missed],
        [
            found(3, REAL, fix=Applicability.SAFE, holds=True),
            found(4, REAL, fix=Applicability.SAFE),
            found(5, DEBATABLE),
        ],
    )
    assert "| TRL003 unreduced-metric | 1/2 |" in text
    assert "| 3 | 2 | 1 | 0 | 2 safe | 1/2 |" in text
    assert "- a release b.py:2 (TRL003, scored sites): too far away" in text
    assert "- `trl/a.py` 3, 4 (TRL003; fix: safe): as it says." in text
    assert "None is known." in text


def test_what_is_proven_is_linked_to_the_case_that_runs_it():
    each = found(3, REAL)
    each.proof = ("cut gathers, SFT",)
    text = page([SITE], [each])
    assert "(TRL003; fix: hint; run: [cut gathers, SFT](verified.md#cut-gathers-sft-1160)): as it says." in text


def test_proofs_are_cases_of_the_release_that_has_the_bug():
    known = {(case.name, f"trl {case.release}") for case in CASES}
    rows = Judgements.load().rows
    assert {(case, place.package) for place, row in rows.items() for case in row.proof} <= known
    assert any(row.proof for row in rows.values())


@pytest.mark.index
@pytest.mark.released
def test_everything_that_is_reported_on_trl_has_been_judged():
    """A new alarm is noticed at once; so is a missing finding."""
    judgements = Judgements.load()
    try:
        reported = list(accuracy.findings_in(TRL, judgements, tries_fixes=False))
    except IndexUnreachable as error:
        pytest.skip(f"not in the cache: {error}")
    assert [str(each.place) for each in reported if each.verdict == UNJUDGED] == []
    assert [str(place) for place in judgements.left([str(TRL)])] == []
    assert false_share(reported) <= accuracy.MOST_FALSE

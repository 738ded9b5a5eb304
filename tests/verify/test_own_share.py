"""Whether each rank trains on its own rows."""

import pytest

from trl_lint.verify.oracles import own_share
from trl_lint.verify.record.traces import RankRecord, Run, Share
from trl_lint.verify.record.verdicts import Outcome


def run_of(*ranks, passes=1):
    """Ranks by what each trained on: a word for each batch, a letter for each row; `|` begins the next pass."""
    found = []
    for number, text in enumerate(ranks):
        each = enumerate(text.split("|"), passes)
        share = [Share(times if passes else 0, [*word]) for times, words in each for word in words.split()]
        found.append(RankRecord(number, share=share))
    return Run(found)


@pytest.mark.parametrize(
    ("ranks", "outcome", "way"),
    [
        (["ab ef ij", "cd gh kl"], Outcome.PASSED, ""),
        (["ab ef ij", "cd gh ab"], Outcome.PASSED, ""),  # filled up
        (["ab ef ij|cd gh kl", "cd gh kl|ab ef ij"], Outcome.PASSED, ""),  # distributed again
        (["ab cd ef", "ab cd ef"], Outcome.FAILED, "same rows"),
        (["abcde fghij xy", "cbkld mfgno zw"], Outcome.FAILED, "overlap"),
        (["ab cd ef", "cb gd ih"], Outcome.UNKNOWN, ""),  # with so few rows it may be chance
        (["ab ab ab", "cd cd cd"], Outcome.UNKNOWN, ""),  # the data are identical
        # Two of eleven rows are identical, on each rank: a few of them on both may be chance, half of them is not.
        (["abcdefghijj xx", "klmnopqrstt yy"], Outcome.PASSED, ""),
        (["abcdefghijj xx", "abcopqrstuu yy"], Outcome.UNKNOWN, ""),
        (["abcdefghijj xx", "abcdefrstuu yy"], Outcome.FAILED, "overlap"),
        (["ab", "ab"], Outcome.UNKNOWN, ""),
        (["ab cd ef", ""], Outcome.UNKNOWN, ""),
        (["ab cd ef"], Outcome.UNKNOWN, ""),
    ],
)
def test_rows_of_the_first_pass(ranks, outcome, way):
    verdict = own_share.judge(run_of(*ranks))
    assert (verdict.outcome, verdict.kind) == (outcome, way)


def test_where_one_pass_ends_is_not_always_known():
    assert own_share.judge(run_of("abcde fghij xy", "cbkld mfgno zw", passes=0)).outcome is Outcome.UNKNOWN
    assert own_share.judge(run_of("ab cd ef", "ab cd ef", passes=0)).kind == "same rows"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("how", "way"), [("shared out", ""), ("all of them", "same rows"), ("own order", "overlap")], ids=lambda each: each
)
def test_what_goes_into_a_model(judged, how, way):
    verdict = judged("shares", how).verdict(own_share.ORACLE)
    assert (verdict.failed, verdict.kind) == (bool(way), way), verdict
    assert how != "shared out" or verdict.outcome is Outcome.PASSED

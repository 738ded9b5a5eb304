"""Releases of other projects' training code, linted as they are on the index, compared with their verdicts."""

from __future__ import annotations

import pytest

from evaluation import foreign
from evaluation.foreign import Dependent, compare, files_of, lint, read_cases, to_be_read, wrong
from evaluation.releases import IndexUnreachable

INDEX_TABLE = foreign.TABLES[1]
# Those that have no false alarm that is still to be fixed. Most take a few seconds; the others are slow.
PACKAGES = (
    "alignment-handbook",
    pytest.param("autotrain-advanced", marks=pytest.mark.slow),
    pytest.param("axolotl", marks=pytest.mark.slow),
    pytest.param("finetrainers", marks=pytest.mark.slow),
    pytest.param("llamafactory", marks=pytest.mark.slow),
    pytest.param("nemo-aligner", marks=pytest.mark.slow),
    "open_clip_torch",
    pytest.param("openrlhf", marks=pytest.mark.slow),
    "setfit",
)
CASES = {case.package: case for case in read_cases(INDEX_TABLE) if isinstance(case, Dependent)}


@pytest.mark.index
@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_release_is_reported_for_is_what_was_judged(package):
    """Every finding has a verdict, none was judged false, and every real one is reported."""
    case = CASES[package]
    try:
        tree = files_of(case, None)
    except IndexUnreachable as error:
        pytest.skip(str(error))
    outcome = lint(case, tree)
    compare(outcome, read_cases(INDEX_TABLE)[case])
    assert outcome.problems == []
    assert list(to_be_read(outcome, 0)) == []
    assert wrong([outcome]) == []


def test_at_least_forty_code_bases_are_judged():
    assert len(read_cases()) >= 40


def test_each_release_says_what_it_is_linted_for():
    """Otherwise the findings would depend on the releases that happen to be installed."""
    assert all(case.trl and case.transformers for case in CASES.values())

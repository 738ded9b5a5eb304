"""The rows of a report: one process with several GPUs is judged by the same oracles as several processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_runs import Runs, printed, session, well

from trl_lint.verify.cli import FORMATS
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import BARE, Subject
from trl_lint.verify.record import verdicts

SUBJECT = Subject("train.py", "/p/train.py", Path("/p"))


@pytest.fixture
def columns(tmp_path):
    """A program as bare python starts it, and as torchrun does."""
    runs = Runs({"bare": [[well(world_size=1)]], "as it is": [[well(0), well(1)]]})
    runner = session(tmp_path, runs)
    bare = runner.judge(replace(SUBJECT, launcher=BARE), "bare")
    launched = runner.judge(SUBJECT, "as it is")
    return [Column(bare, bare.passed, is_bare=True), Column(launched, launched.passed)]


def test_both_have_the_same_rows(columns):
    bare, launched = ([each.oracle for each in column.judged.verdicts] for column in columns)
    assert bare == launched and len(set(bare)) == len(bare) >= 6


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_both(columns, name):
    text = printed(name, Proof("train.py", columns))
    assert all(verdict.oracle in text for verdict in columns[1].judged.verdicts)
    assert "all 2 ranks ran to their end" in " ".join(text.split())


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_that_an_oracle_was_not_asked_of_has_an_empty_cell(columns, name):
    columns[0].judged.verdicts = [verdicts.passed("ends", "all ranks ran to their end")]
    columns[1].judged.verdicts.append(verdicts.passed("another", "all is well"))
    assert "all is well" in " ".join(printed(name, Proof("train.py", columns)).split())


def test_how_long_a_bare_run_may_take_is_not_known_beforehand(tmp_path):
    runs = Runs({"bare": [[well(world_size=1)]], "one process": [[well(world_size=1)]]})
    runner = session(tmp_path, runs)
    subject = replace(SUBJECT, launcher=BARE)
    runner.judge(subject, "bare", runner.one_process(subject))
    bare, single = (launch.limit for launch in runs.launches)
    assert bare is None and single > 60

"""The proof of our own subjects: broken they fail in their rule's way, at a marked line; fixed and right ones pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trl_lint.verify import fixtures, proofs
from trl_lint.verify.session import Session

FIXTURES = list(fixtures.fixtures())
# How many rows are left over in the last batch is counted for two processes.
FOR_TWO = {"truncated_gather"}
# Seconds that a rank may be late: these train, and the machine may have other work. What hangs is waited for as long.
PATIENCE, PATIENCE_WITH_HANGS = 30, 8

pytestmark = pytest.mark.torch


def prove(fixture, launch, server, folder, nproc):
    hangs = fixtures.WAYS[fixture.rule].way == "hang"
    patience = PATIENCE_WITH_HANGS if hangs else PATIENCE
    session = Session(replace(launch, nproc=nproc, timeout=patience), folder, start=server)
    proof = proofs.of_fixture(fixture, session)
    for column in proof.columns:
        assert column.holds, column.judged.verdicts


def test_no_program_is_left_out():
    proven = {Path(each.script) for fixture in FIXTURES for each in fixtures.subjects(fixture) if each is not None}
    left_out = {path.name for path in fixtures.folder().glob("*/*.py") if path not in proven}
    assert left_out == {"wandb.py"}


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_on_two_processes(fixture, launch, server, tmp_path):
    prove(fixture, launch, server, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fixture", [each for each in FIXTURES if each.rule not in FOR_TWO], ids=lambda fixture: fixture.name
)
def test_on_four_processes(fixture, launch, server, tmp_path):
    prove(fixture, launch, server, tmp_path, 4)

"""The proof of our own subjects: broken ones fail in their rule's way, at a marked line; fixed and right ones pass."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from trl_lint.verify.proof import fixtures, proofs
from trl_lint.verify.proof.session import Session

FIXTURES = list(fixtures.fixtures())
# Seconds after which idle ranks are given up: in the fixtures that hang, ranks are only in collectives, and that is
# detected at once.
PATIENCE = 3600

pytestmark = pytest.mark.torch


def prove(fixture, launch, server, folder, nproc):
    session = Session(replace(launch, nproc=nproc, timeout=PATIENCE), folder, start=server)
    proof = proofs.of_fixture(fixture, session)
    for column in proof.columns:
        assert column.holds, column.judged.verdicts


def test_no_program_is_left_out():
    proven = {Path(each.script) for fixture in FIXTURES for each in fixtures.subjects(fixture) if each is not None}
    left_out = {path.name for path in fixtures.folder().glob("*/*.py") if path not in proven}
    assert left_out == {"wandb.py"}


RULES = list(fixtures.expected_failures())
# The first of their rules, too, which others prove in every run: where they are installed, on four processes (below),
# and with what is said of them (`test_from_wheel.py`).
PROVEN = {"item_before_gather/broken", "mean_of_means/broken", "wrapped_generate/broken"}


def _on_two():
    """In every run the first broken trainer of each rule, and the loop and the right program of every fifteenth.

    The others fail or pass in the same ways: they are slow.
    """
    assert {each.name for each in FIXTURES} >= PROVEN
    for fixture in FIXTURES:
        program = fixture.name.rpartition("/")[2]
        turn = RULES.index(fixture.rule) % 15
        is_first = (program == "broken" and fixture.name not in PROVEN) or (program, turn) in (
            ("broken_loop", 0),
            ("quiet", 1),
        )
        yield pytest.param(fixture, id=fixture.name, marks=[] if is_first else [pytest.mark.slow])


@pytest.mark.parametrize("fixture", list(_on_two()))
def test_on_two_processes(fixture, launch, server, tmp_path):
    prove(fixture, launch, server, tmp_path, 2)


# For each kind of failure that names a line of the program: one that fails in library code and one in its own.
INSTALLED = ("item_before_gather/broken", "item_before_gather/broken_loop", "wrapped_model_attribute/broken_ddp")


@pytest.mark.parametrize("name", [INSTALLED[0], pytest.param(INSTALLED[1], marks=pytest.mark.slow), INSTALLED[2]])
def test_where_they_are_installed(name, launch, server, tmp_path, monkeypatch):
    """From a wheel they are below the package, among all other installed packages."""
    folder = tmp_path / "site-packages" / "trl_lint" / "fixtures"
    shutil.copytree(fixtures.folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fixtures, "folder", lambda: folder)
    (fixture,) = (each for each in fixtures.fixtures() if each.name == name)
    assert fixture.broken.is_relative_to(folder)
    prove(fixture, launch, server, tmp_path / "traces", 2)


# A rule about numbers that differ with more than two ranks. Ranks that wait for some of the others are in
# `test_verdicts.py`.
MORE_THAN_TWO = "mean_of_means"


def _on_four():
    """The first fixture of one rule in every run of the tests, the others in the slow ones."""
    for fixture in (each for each in FIXTURES if fixtures.expected_failures()[each.rule].processes is None):
        rule, _, program = fixture.name.partition("/")
        is_first = rule == MORE_THAN_TWO and program == "broken"
        yield pytest.param(fixture, id=fixture.name, marks=[] if is_first else [pytest.mark.slow])


@pytest.mark.parametrize("fixture", list(_on_four()))
def test_on_four_processes(fixture, launch, server, tmp_path):
    prove(fixture, launch, server, tmp_path, 4)

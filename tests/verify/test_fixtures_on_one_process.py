"""Every fixture is a program that runs on one process, and its fix does not change what it logs there."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from math import isclose, isnan

import pytest
from once import once

from trl_lint.knowledge.heuristics import CLOCK_METRIC
from trl_lint.verify.oracles import training
from trl_lint.verify.proof import fixtures
from trl_lint.verify.proof.session import Session

WAYS = fixtures.expected_failures()


def runs_alone(path):
    """Whether a program of a rule runs on one process without a group."""
    way = WAYS.get(path.parent.name)
    return way is not None and path.stem.replace("fixed", "broken", 1) not in way.needs_group


PROGRAMS = sorted(filter(runs_alone, fixtures.folder().glob("*/*.py")))
# Pairs are not compared for rules whose fix also changes one process, which makes it unsafe.
RULES = sorted(WAYS)
UNCHANGED = {rule for rule, way in WAYS.items() if not way.changes_one_process}
PAIRS = [path for path in PROGRAMS if path.stem.startswith("fixed") and path.parent.name in UNCHANGED]
# Lines that differ in any two runs: those with times, and progress bars.
PASSING = re.compile(r"runtime|per_second|/s\]")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")

pytestmark = pytest.mark.torch


def identity(path):
    return f"{path.parent.name}/{path.stem}"


def in_turn(paths):
    """In every run the first program of every second rule and every eighth after it, with its pair; the rest is slow.

    The first ones of all rules are run on two processes, and those that are fixed on one (`test_fixtures_verified.py`).
    """
    names = sorted({identity(path).replace("/fixed", "/broken") for path in PROGRAMS})
    for path in paths:
        of_rule = [name for name in names if name.startswith(f"{path.parent.name}/")]
        turn = of_rule.index(identity(path).replace("/fixed", "/broken")) % 8 or RULES.index(path.parent.name) % 2
        yield pytest.param(path, id=identity(path), marks=[pytest.mark.slow] if turn else [])


def pair(path):
    """A program and the other one of its pair: forks of one process draw the same random numbers."""
    kind, _, name = path.stem.partition("_")
    both = (path.with_stem("_".join(filter(None, (each, name)))) for each in ("broken", "fixed"))
    return tuple(each for each in both if each.exists()) if kind in ("broken", "fixed") else (path,)


@pytest.fixture(scope="module")
def run(launch, server, tmp_path_factory):
    """The run of a program on one plain process; each program runs once, with the other one of its pair."""

    @cache
    def runs_of(programs):
        def alone(folder):
            session = Session(replace(launch, nproc=1), folder / "traces", start=server)
            return {path: session.one_process(fixtures.subject(path))() for path in programs}

        return once(tmp_path_factory, programs, alone)

    return lambda path: runs_of(pair(path))[path]


@pytest.mark.parametrize("program", [*in_turn(PROGRAMS)])
def test_runs_on_one_process(program, run):
    (rank,) = run(program).ranks
    assert rank.ended_well, rank.output


def told(run):
    """The output and the log of a program: its words, and the numbers among them."""
    (rank,) = run.ranks
    logs = [{name: value for name, value in log.values.items() if not CLOCK_METRIC.fits(name)} for log in rank.logs]
    lines = [line for line in rank.output.splitlines() if not PASSING.search(line)]
    text = "\n".join(lines)
    words = [[log.sink, *values] for log, values in zip(rank.logs, logs, strict=True)], NUMBER.split(text)
    numbers = [value for values in logs for value in values.values()]
    return words, [*numbers, *map(float, NUMBER.findall(text))]


def is_alike(a, b):
    """Equal, up to the digits that a Python number loses as a tensor."""
    return isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (isnan(a) and isnan(b))


@pytest.mark.parametrize("fixed", [*in_turn(PAIRS)])
def test_the_fix_changes_nothing_on_one_process(fixed, run):
    before = run(fixed.with_name(fixed.name.replace("fixed", "broken", 1)))
    after = run(fixed)
    (words, numbers), (words_after, numbers_after) = told(before), told(after)
    assert numbers or before.ranks[0].losses, "nothing was told, so that nothing could be compared"
    assert words == words_after
    assert len(numbers) == len(numbers_after)
    assert all(map(is_alike, numbers, numbers_after))
    assert not training.judge_pair(before, after).failed

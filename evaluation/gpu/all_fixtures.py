"""All fixtures on a machine with GPUs, as many as there is time for, several at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from evaluation.gpu.checks import Bench, backend_of, of_broken, passes
from evaluation.gpu.rows import Row, not_run
from trl_lint.verify.proof import fixtures
from trl_lint.verify.proof.fixtures import Fixture
from trl_lint.verify.proof.session import BARE

# Each starts two processes that import torch and compute a little.
CORES_OF_ONE = 3
MOST_AT_ONCE = 6
BROKEN, RIGHT = "it fails in its rule's way", "no oracle fails"


def rows(bench: Bench) -> Iterator[Row]:
    """A row per program; the first programs of each rule come before the others."""
    at_once = max(1, min(MOST_AT_ONCE, (os.cpu_count() or 1) // CORES_OF_ONE))
    # A run ends everything that its process has started, so each has its own; a process that has used a GPU can't fork.
    with ProcessPoolExecutor(at_once, get_context("spawn")) as pool:
        yield from pool.map(partial(_row, replace(bench, known={})), *zip(*programs(), strict=True))


def programs() -> Sequence[tuple[Fixture, bool]]:
    """Each fixture's programs, and whether it is the broken one; the most useful ones come first."""
    found = [(fixture, is_broken) for fixture in fixtures.fixtures() for is_broken in (True, False)]
    of_rule: dict[str, int] = {}
    ordered = []
    for fixture, is_broken in found:
        program = fixtures.subjects(fixture)[0 if is_broken else 1]
        if program is None or (is_broken and program.launcher == BARE):  # `checks.py` runs these
            continue
        place = of_rule[fixture.rule] = of_rule.get(fixture.rule, 0) + 1
        ordered.append((place, fixture, is_broken))
    return [(fixture, is_broken) for _, fixture, is_broken in sorted(ordered, key=lambda each: each[0])]


def _row(bench: Bench, fixture: Fixture, is_broken: bool) -> Row:
    what, expected = f"fixture {fixture.name}, {'broken' if is_broken else 'right'}", BROKEN if is_broken else RIGHT
    processes = fixtures.expected_failures()[fixture.rule].processes
    if processes not in (None, 2):
        return not_run(what, expected, f"it is made for {processes} processes")
    if is_broken:
        return bench.row(what, expected, lambda: of_broken(bench, fixture))
    return bench.row(what, expected, lambda: _right(bench, fixture))


def _right(bench: Bench, fixture: Fixture) -> tuple[str, bool]:
    program = fixtures.subjects(fixture)[1]
    assert program is not None  # only requested for fixtures that have one
    runner = bench.session(f"{fixture.name}-right", 2, backend_of(bench, fixture))
    return passes(runner.judge(program, "right", runner.one_process(program)))

"""What the plugin costs: flake8 with it over flake8 without it, on the same files.

    python bench/with_flake8.py [--runs N] [--jobs N]

Whole processes are measured, in turns, and the median of each side is taken: CPU time (of flake8 and the processes
it starts) and wall time. Exit code 1 when a ratio of CPU times is above its limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from common import FAILED, PASSED, run, table
from corpora import TRANSFORMERS, TRL, Corpus

# flake8 as it is started from a terminal; without the plugin it does not get to see our distribution at all.
FLAKE8 = "import sys; from flake8.main.cli import main; sys.exit(main())"
HIDDEN = """
import importlib.metadata as metadata
real = metadata.distributions
metadata.distributions = lambda **how: (each for each in real(**how) if each.metadata["Name"] != "trl-lint")
"""
SIDES = {"without": HIDDEN + FLAKE8, "with": FLAKE8}


@dataclass(frozen=True)
class Case:
    """Some folder of a release, and the ratio that is allowed on it."""

    corpus: Corpus
    folder: str
    limit: float


CASES = (Case(TRL, "trl", 1.5), Case(TRANSFORMERS, "transformers/models", 1.05))


@dataclass(frozen=True)
class Cost:
    """What one run of flake8 took, in seconds."""

    cpu: float
    wall: float


def measure(script: str, case: Case, jobs: str) -> Cost:
    """Run flake8 once. Its own findings are written to nowhere."""
    command = [sys.executable, "-c", script, "--isolated", f"--jobs={jobs}", "--exit-zero", case.folder]
    before, start = _children(), time.perf_counter()
    subprocess.run(command, cwd=case.corpus.root, stdout=subprocess.DEVNULL, check=True)
    return Cost(_children() - before, time.perf_counter() - start)


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def plugins(script: str) -> str:
    """What flake8 says it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def compare(case: Case, runs: int, jobs: str) -> tuple[float, float, tuple[object, ...]]:
    """The ratios of CPU and wall time, and a line for the reader."""
    costs: dict[str, list[Cost]] = {side: [] for side in SIDES}
    for _ in range(runs):
        for side, script in SIDES.items():
            costs[side].append(measure(script, case, jobs))
    cpu = {side: median(cost.cpu for cost in costs[side]) for side in SIDES}
    wall = {side: median(cost.wall for cost in costs[side]) for side in SIDES}
    ratios = cpu["with"] / cpu["without"], wall["with"] / wall["without"]
    seconds = (f"{each[side]:.2f}" for each in (cpu, wall) for side in SIDES)
    row = (f"{case.corpus} {case.folder}", *seconds, *(f"{ratio:.3f}" for ratio in ratios), case.limit)
    return *ratios, row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="how often each side is run; default: 3")
    parser.add_argument("--jobs", default="1", help="flake8's --jobs, for both sides; default: 1")
    parser.add_argument("--only", choices=[case.corpus.release.package for case in CASES], help="one of the releases")
    options = parser.parse_args(arguments)
    assert "trl-lint" in plugins(SIDES["with"]), "the plugin is not installed"
    assert "trl-lint" not in plugins(SIDES["without"]), "the plugin could not be hidden"
    rows: list[tuple[object, ...]] = [
        ("corpus", "cpu without", "cpu with", "wall without", "wall with", "cpu ratio", "wall ratio", "limit")
    ]
    kept = True
    for case in CASES:
        if options.only in (None, case.corpus.release.package):
            ratio, _, row = compare(case, options.runs, options.jobs)
            rows.append(row)
            kept = kept and ratio <= case.limit
    print(f"flake8 --jobs={options.jobs}, median of {options.runs} runs each\n\n{table(rows)}")
    return PASSED if kept else FAILED


if __name__ == "__main__":
    run(main)

"""What the plugin costs: flake8 with it over flake8 without it, on the same files.

    python -m bench.with_flake8 [--runs N] [--jobs N] [--only PACKAGE]

Whole processes are measured alternately, and the median of each side is taken: CPU time (of flake8 and its child
processes) and wall time. The plugin is measured twice: cold, with an empty cache that it fills, and warm, with the
cache of the cold run and nothing changed since. Exit code 1 when a warm ratio, of CPU or wall time, is above its limit;
the cold ones have none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from evaluation.common import FAILED, PASSED, run, table
from evaluation.corpora import TRANSFORMERS, TRL, Corpus

# flake8 as started from a terminal; on the side without the plugin, our distribution is hidden from it.
FLAKE8 = "import sys; from flake8.main.cli import main; sys.exit(main())"
HIDDEN = """
import importlib.metadata as metadata
real = metadata.distributions
metadata.distributions = lambda **how: (each for each in real(**how) if each.metadata["Name"] != "trl-lint")
"""
# In this order: the cold run fills the cache for the warm one.
SIDES = {"without": HIDDEN + FLAKE8, "cold": FLAKE8, "warm": FLAKE8}


@dataclass(frozen=True)
class Case:
    """Some folder of a release, and the warm ratio that is allowed on it."""

    corpus: Corpus
    folder: str
    limit: float


CASES = (Case(TRL, "trl", 1.5), Case(TRANSFORMERS, "transformers/models", 1.05))


@dataclass(frozen=True)
class Cost:
    """What one run of flake8 took, in seconds."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Ratios:
    """The cost of a side as a ratio to flake8 without the plugin."""

    cpu: float
    wall: float

    def within(self, limit: float) -> bool:
        return max(self.cpu, self.wall) <= limit


def measure(script: str, case: Case, jobs: str, cache: str) -> Cost:
    """Run flake8 once. Its findings are discarded."""
    command = [sys.executable, "-c", script, "--isolated", f"--jobs={jobs}", "--exit-zero", case.folder]
    environment = {name: value for name, value in os.environ.items() if name != "TRL_LINT_NO_CACHE"}
    environment["TRL_LINT_CACHE_DIR"] = cache
    before, start = _children(), time.perf_counter()
    subprocess.run(command, cwd=case.corpus.root, env=environment, stdout=subprocess.DEVNULL, check=True)
    return Cost(_children() - before, time.perf_counter() - start)


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def plugins(script: str) -> str:
    """The plugins that flake8 reports as loaded."""
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def costs(case: Case, runs: int, jobs: str) -> dict[str, Cost]:
    """The median cost of each side."""
    found: dict[str, list[Cost]] = {side: [] for side in SIDES}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for side, script in SIDES.items():
                found[side].append(measure(script, case, jobs, cache))
    return {
        side: Cost(median(cost.cpu for cost in each), median(cost.wall for cost in each))
        for side, each in found.items()
    }


def ratios(found: dict[str, Cost], side: str) -> Ratios:
    alone = found["without"]
    return Ratios(found[side].cpu / alone.cpu, found[side].wall / alone.wall)


def rows(case: Case, found: dict[str, Cost]) -> list[tuple[object, ...]]:
    """A line for each side."""
    name = f"{case.corpus} {case.folder}"
    lines: list[tuple[object, ...]] = []
    for side, cost in found.items():
        seconds = (f"{cost.cpu:.2f}", f"{cost.wall:.2f}")
        ratio = ratios(found, side)
        shown = ("", "") if side == "without" else (f"{ratio.cpu:.3f}", f"{ratio.wall:.3f}")
        lines.append((name, side, *seconds, *shown, case.limit if side == "warm" else ""))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="how often each side is run; default: 3")
    parser.add_argument("--jobs", default="1", help="flake8's --jobs, for all sides; default: 1")
    parser.add_argument("--only", choices=[case.corpus.release.package for case in CASES], help="one of the releases")
    options = parser.parse_args(arguments)
    assert "trl-lint" in plugins(SIDES["warm"]), "the plugin is not installed"
    assert "trl-lint" not in plugins(SIDES["without"]), "the plugin could not be hidden"
    lines: list[tuple[object, ...]] = [("corpus", "plugin", "cpu s", "wall s", "cpu ratio", "wall ratio", "limit")]
    kept = True
    for case in CASES:
        if options.only in (None, case.corpus.release.package):
            found = costs(case, options.runs, options.jobs)
            lines += rows(case, found)
            kept = kept and ratios(found, "warm").within(case.limit)
    print(f"flake8 --jobs={options.jobs}, median of {options.runs} runs each; load {os.getloadavg()[0]:.1f}")
    print("cold: the cache is empty; warm: nothing has changed since a run that has filled it\n")
    print(table(lines))
    return PASSED if kept else FAILED


if __name__ == "__main__":
    run(main)

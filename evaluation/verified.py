"""Real released trainers, on several processes: as they are, after `--fix`, and as upstream fixed them.

    python -m evaluation.verified [--only TEXT] [--nproc N] [--keep DIR] [--no-plot] [--output DIR]

Each is trained for a few steps on the CPU and judged by the oracles of `trl-lint verify` (`proof/` has the cases, and
what must hold of each). A whole run writes `docs/verified.md` and its plot; one with other options writes a page only
with `--output`. Environments are built if they are missing (`environments.py`).
Exit codes: 0 all is as it must be, 1 something is not, 2 an environment could not be built.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from evaluation.common import FAILED, PASSED, run
from evaluation.proof import curve, page
from evaluation.proof.cases import CASES, Case
from evaluation.proof.facts import Fact, facts_of
from evaluation.proof.trials import Trial, Trials

DOCS = Path(__file__).parents[1] / "docs"
NPROC = 2


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this text in their name or release")
    parser.add_argument("--nproc", type=int, default=NPROC, metavar="N", help="processes, at least 2")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep traces and fixed copies here")
    parser.add_argument("--no-plot", action="store_true", help="leave out the long run that the plot needs")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where the page is written")
    chosen = parser.parse_args(arguments)
    if chosen.nproc < 2:
        parser.error("--nproc: no rank differs from another where there is one only")
    chosen.no_plot = chosen.no_plot or bool(chosen.only)
    if not chosen.no_plot and not _has_matplotlib():
        parser.error("the plot needs matplotlib (in trl-lint[dev]); --no-plot does without")
    if not chosen.no_plot and chosen.nproc == NPROC:
        chosen.output = chosen.output or DOCS
    return chosen


def _has_matplotlib() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def chosen_cases(text: str) -> list[Case]:
    """The cases whose label contains the text."""
    return [case for case in CASES if text.lower() in f"{case.name} {case.release}".lower()]


def prove(trials: Trials, case: Case) -> tuple[Trial, list[Fact]]:
    """Run a case, print it, and return the facts about it."""
    trial = trials.run(case)
    facts = facts_of(trial)
    print(page.printed(trial, facts), flush=True)
    return trial, facts


def is_right(trial: Trial, facts: Sequence[Fact]) -> bool:
    return all(column.as_expected for column in trial.columns.values()) and all(fact.holds for fact in facts)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    cases = chosen_cases(chosen.only)
    if not cases:
        print(f"no case is called {chosen.only!r}", file=sys.stderr)
        return FAILED
    with ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trials = Trials(folder.absolute(), chosen.nproc, tell=lambda text: print(f"… {text}", file=sys.stderr))
        proved = [prove(trials, case) for case in cases]
        wrong = [trial.case.name for trial, facts in proved if not is_right(trial, facts)]
        drawn = _plot(trials, chosen) if not chosen.no_plot else None
    if drawn is not None and not drawn.holds:
        wrong.append("the plot")
    if chosen.output:
        chosen.output.mkdir(parents=True, exist_ok=True)
        text = page.page(proved, chosen.nproc, drawn)
        (chosen.output / "verified.md").write_text(text, encoding="utf-8")
        print(f"written: {chosen.output / 'verified.md'}")
    print(f"{len(cases)} cases: " + (f"not as it must be: {', '.join(wrong)}" if wrong else "all as they must be"))
    return FAILED if wrong else PASSED


def _plot(trials: Trials, chosen: argparse.Namespace) -> Fact:
    before, after = curve.curves(trials)
    fact = curve.fact(before, after)
    print(f"the plot\n  {page.mark(fact.holds)} {fact.text}")
    if chosen.output:
        curve.draw(before, after, chosen.output / page.PLOT)
    return fact


if __name__ == "__main__":
    run(main)

"""Where the time of a lint goes: CPU seconds of each phase, in one process, on the trees of the speed benchmark.

    python -m bench.phases [--only TEXT]

A phase is charged its own time, not the time of other phases that it calls: a call that leads into another file may
have that file parsed, which counts as parsing. No cache is used. Starting Python and importing the linter count in no
phase.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from bench.peers import TREES
from evaluation.common import PASSED, new_linter, run, table
from evaluation.corpora import Corpus
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project import partial_trees
from trl_lint.analysis.program.project import project as projects
from trl_lint.linter.code_linter import CodeLinter
from trl_lint.linter.files.prefilter import Prefilter

REST = "the rest"
Phase = str | Callable[..., str]


def _kind_of_run(engine: Engine, function: Any, called: Any, *_: object) -> str:
    """Why a function is run: for the first time, for new arguments, or because something has changed."""
    if called.key in function.summaries:
        return "runs again"
    return "further contexts" if function.summaries else "first runs"


# What is timed: where it is, its name there, and its phase.
TIMED: Sequence[tuple[Any, str, Phase]] = (
    (Prefilter, "may_matter", "filter"),
    (CodeLinter, "_in_order", "order of files"),
    (projects, "parsed", "parse"),
    (projects, "partly_parsed", "parse"),
    (partial_trees.WaitingBlock, "_read", "parse"),
    (Engine, "load", "bodies of modules"),
    (Engine, "_run", _kind_of_run),
    (Engine, "analyse", "entry points"),
    (Engine, "_events", "events"),
    (CodeLinter, "_record_violations", "rules"),
    (CodeLinter, "_located", "places and plans"),
)


class Clock:
    """Charges CPU time to the innermost phase that is active."""

    def __init__(self, now: Callable[[], float] = time.process_time) -> None:
        self.spent: Counter[str] = Counter()
        self._now = now
        self._open = [REST]
        self._since = now()

    def switch(self) -> None:
        now = self._now()
        self.spent[self._open[-1]] += now - self._since  # type: ignore[assignment]
        self._since = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.switch()
        self._open.append(name)
        try:
            yield
        finally:
            self.switch()
            self._open.pop()

    def timed(self, function: Callable[..., Any], phase: Phase) -> Callable[..., Any]:
        """Wrap a function so that its time is charged to a phase."""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.phase(phase if isinstance(phase, str) else phase(*args)):
                return function(*args, **kwargs)

        return call


def of_tree(corpus: Corpus) -> Mapping[str, float]:
    """CPU seconds of each phase of a lint of a tree."""
    files = [(path, path.read_bytes()) for path in corpus.files]
    linter = new_linter(corpus.root)
    clock = Clock()
    with ExitStack() as stack:
        for owner, name, phase in TIMED:
            stack.enter_context(patch.object(owner, name, clock.timed(getattr(owner, name), phase)))
        matter = [(path, source) for path, source in files if linter.may_matter(source)]
        linter.prepare(matter)
        for path, source in matter:
            linter.check(path, source)
    clock.switch()
    return clock.spent


def lines_of(spent: Mapping[str, Mapping[str, float]]) -> list[tuple[object, ...]]:
    """A line for each phase, with its seconds in each tree and its share of all."""
    phases = dict.fromkeys(phase for each in spent.values() for phase in each)
    totals = {tree: sum(each.values()) for tree, each in spent.items()}
    order = sorted(phases, key=lambda phase: -sum(each.get(phase, 0) for each in spent.values()))
    rows: list[tuple[object, ...]] = [("phase", *spent)]
    for phase in order:
        cells = (f"{each.get(phase, 0):.2f} ({each.get(phase, 0) / totals[tree]:.0%})" for tree, each in spent.items())
        rows.append((phase, *cells))
    return [*rows, ("all", *(f"{total:.2f}" for total in totals.values()))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="trees with this text in their name")
    chosen = parser.parse_args(arguments)
    spent = {}
    for corpus in TREES:
        if chosen.only in str(corpus):
            print(f"… {corpus}", file=sys.stderr)
            spent[str(corpus)] = of_tree(corpus)
    print(table(lines_of(spent)))
    return PASSED


if __name__ == "__main__":
    run(main)

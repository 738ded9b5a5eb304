"""Speed benchmark: the CPU time of a whole lint over the CPU time of `libcst.parse_module` alone.

    python -m bench.speed [--json] [--fixes]

Both are measured in one process on the same candidate files (those in which a rule can find anything). The total
includes everything that a lint does, other files that are opened as well. For single files, time is charged to the file
whose code is being analysed: the cost of a call into another file, or of a base class in another file, belongs to that
file. Exit code 1 when the ratio is above 3 in total or above 6 for any file.

With `--fixes` whole commands are measured instead: the cost of `--output-format json`, `--diff` and `--fix` over a
plain lint of the same files, for one file with nothing to fix, for many files of which one has something to fix, and
for a release. Exit code 1 when one costs more than 1.5 times as much (for the release: 2.5 times).
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import libcst

from evaluation.common import FAILED, PASSED, new_linter, run, table
from evaluation.corpora import SPEED, TRL, Corpus
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.program.project.project import Project
from trl_lint.linter.linter import Linter

MAX_TOTAL, MAX_FILE = 3.0, 6.0
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
# What fixes may cost over a plain lint: if next to nothing is to be fixed, and for a release.
MAX_QUIET, MAX_RELEASE = 1.5, 2.5
WAYS = {
    "lint": ("--output-format", "text"),
    "json": ("--output-format", "json"),
    "--diff": ("--diff",),
    "--fix": ("--fix",),
}
REPEATS = 3


@dataclass(frozen=True)
class Timing:
    """The cost of one file in seconds of CPU time: of parsing it alone, and of the whole lint."""

    corpus: str
    file: str
    parse: float
    lint: float

    @property
    def ratio(self) -> float:
        return self.lint / self.parse


class Ledger:
    """Charges CPU time to the file that is being analysed."""

    def __init__(self) -> None:
        self.spent: Counter[Path | None] = Counter()
        self._stack: list[Path | None] = [None]
        self._since = time.process_time()

    def _switch(self) -> None:
        now = time.process_time()
        self.spent[self._stack[-1]] += now - self._since
        self._since = now

    @contextmanager
    def charging(self, path: Path | None) -> Iterator[None]:
        self._switch()
        self._stack.append(path)
        try:
            yield
        finally:
            self._switch()
            self._stack.pop()

    def wrap(self, method: Callable[..., object], path_of: Callable[..., Path]) -> Callable[..., object]:
        def charged(owner: object, subject: object, *args: object, **kwargs: object) -> object:
            with self.charging(path_of(subject)):
                return method(owner, subject, *args, **kwargs)

        return charged

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the ledger measure all work that belongs to one file."""
        originals = [(owner, name, getattr(owner, name), path_of) for owner, name, path_of in _WORK]
        for owner, name, method, path_of in originals:
            setattr(owner, name, self.wrap(method, path_of))
        try:
            with self.charging(None):
                yield
        finally:
            for owner, name, method, _ in originals:
                setattr(owner, name, method)


# Methods that work on one file, and how to get that file from their first argument.
_WORK: tuple[tuple[type, str, Callable[..., Path]], ...] = (
    (Project, "add", lambda path: path),
    (Engine, "load", lambda module: module.path),
    (Engine, "analyse_class", lambda cls: cls.module.path),
    (Engine, "_run", lambda function: function.module.path),
    (Linter, "report", lambda path: path),
    (Linter, "_analyse", lambda path: path),
)


def measure(corpus: Corpus) -> tuple[list[Timing], float]:
    """The timings of the candidate files of one corpus with a fresh linter, and all it spent."""
    linter = new_linter(corpus.root)
    sources = {path: path.read_bytes() for path in corpus.files}
    candidates = {path: source for path, source in sources.items() if linter.may_matter(source)}
    parse = {path: _cpu(lambda source=source: libcst.parse_module(source)) for path, source in candidates.items()}
    ledger = Ledger()
    with ledger.installed():
        linter.prepare(candidates.items())
        for path, source in candidates.items():
            linter.check(path, source)
    rows = [Timing(str(corpus), _relative(path, corpus.root), parse[path], ledger.spent[path]) for path in candidates]
    return rows, sum(ledger.spent.values())


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def warm_up() -> None:
    """Load LibCST, its parser and the rules before the measurement: they cost the same for any tree."""
    libcst.parse_module("import torch\n")
    new_linter(Path.cwd()).check(Path("warm_up.py"), b"import torch\n")


def report(timings: Sequence[Timing], spent: Mapping[str, float]) -> str:
    """The ratio of every corpus and of the whole, and the worst files."""
    rows: list[tuple[object, ...]] = [("corpus", "files", "parse s", "lint s", "ratio", "worst file", "ratio")]
    for name in (*spent, "total"):
        chosen = [timing for timing in timings if name in (timing.corpus, "total")]
        worst = max(chosen, key=lambda timing: timing.ratio)
        parse, lint = sum(t.parse for t in chosen), spent.get(name, sum(spent.values()))
        numbers = (f"{parse:.2f}", f"{lint:.2f}", f"{lint / parse:.2f}", worst.file, f"{worst.ratio:.2f}")
        rows.append((name, len(chosen), *numbers))
    ranked = sorted(timings, key=lambda timing: -timing.ratio)[:8]
    slowest = [("slowest files", "parse s", "lint s", "ratio")]
    slowest += [(t.file, f"{t.parse:.3f}", f"{t.lint:.3f}", f"{t.ratio:.2f}") for t in ranked]
    return table(rows) + "\n\n" + table(slowest)


def passed(timings: Sequence[Timing], spent: Mapping[str, float]) -> bool:
    """Whether both ratios are below their limits."""
    total = sum(spent.values()) / sum(t.parse for t in timings)
    return total <= MAX_TOTAL and all(timing.ratio <= MAX_FILE for timing in timings)


# --- fixes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """The CPU time of whole commands on one folder, by command, and what each may cost over a lint."""

    folder: str
    limit: float
    spent: Mapping[str, float]

    def ratio(self, way: str) -> float:
        return self.spent[way] / self.spent["lint"]

    @property
    def passed(self) -> bool:
        return all(self.ratio(way) <= self.limit for way in WAYS)


def costs() -> list[Cost]:
    """The cost of fixes in three folders, measured alternately."""
    with tempfile.TemporaryDirectory() as temporary:
        quiet, one = Path(temporary, "quiet"), Path(temporary, "one")
        for folder in (quiet, one):
            folder.mkdir()
        shutil.copy(FIXTURES / "unreduced_metric" / "quiet.py", quiet)
        for path in FIXTURES.glob("*/quiet*.py"):
            shutil.copy(path, one / f"{path.parent.name}_{path.name}")
        shutil.copy(FIXTURES / "item_before_gather" / "broken.py", one)
        return [
            _cost("a quiet file", quiet, MAX_QUIET),
            _cost("one fix among many files", one, MAX_QUIET),
            _cost(str(TRL), TRL.root, MAX_RELEASE),
        ]


def _cost(name: str, folder: Path, limit: float) -> Cost:
    rounds = [{way: _of_command(folder, options) for way, options in WAYS.items()} for _ in range(REPEATS)]
    return Cost(name, limit, {way: min(each[way] for each in rounds) for way in WAYS})


def _of_command(folder: Path, options: Sequence[str]) -> float:
    """The CPU time of a lint of a copy of the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, "copy")
        shutil.copytree(folder, copy)
        command = [sys.executable, "-m", "trl_lint", ".", "--isolated", "--no-cache", *options]
        before = _of_children()
        done = subprocess.run(command, cwd=copy, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()[-400:]}")
        return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report_costs(found: Sequence[Cost]) -> str:
    """The ratio of every command, by folder."""
    heading = ("over a plain lint", *(way for way in WAYS if way != "lint"), "limit")
    rows = [(each.folder, *(f"{each.ratio(way):.2f}" for way in heading[1:-1]), each.limit) for each in found]
    return table([heading, *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the timings as JSON")
    parser.add_argument("--fixes", action="store_true", help="measure what fixes cost over a plain lint")
    options = parser.parse_args(arguments)
    if options.fixes:
        found = costs()
        print(json.dumps([vars(cost) for cost in found], indent=1) if options.json else report_costs(found))
        return PASSED if all(cost.passed for cost in found) else FAILED
    warm_up()
    timings: list[Timing] = []
    spent: dict[str, float] = {}
    for corpus in SPEED:
        rows, spent[str(corpus)] = measure(corpus)
        timings.extend(rows)
    if options.json:
        print(json.dumps([vars(timing) for timing in timings], indent=1))
    else:
        print(report(timings, spent))
    return PASSED if passed(timings, spent) else FAILED


if __name__ == "__main__":
    run(main)

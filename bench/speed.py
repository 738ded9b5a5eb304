"""Speed benchmark: the CPU time of a whole lint over the CPU time of `libcst.parse_module` alone.

    python bench/speed.py [--json]

Both are measured in one process on the same candidate files (those in which a rule can find anything), file
by file in turn, with the garbage collector on. The total holds all that a lint does. Of a single file, the
parsing of what it imports is charged to the imported file. Exit code 1 when the ratio is above 3 in total or
above 6 for any file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import libcst
from common import FAILED, PASSED, new_linter, run, table
from corpora import SPEED, Corpus

MAX_TOTAL, MAX_FILE = 3.0, 6.0


@dataclass(frozen=True)
class Timing:
    """What one file cost, in seconds of CPU time."""

    corpus: str
    file: str
    parse: float
    # check() of this file without the parsing of others, and its own parsing wherever it happened.
    own: float
    # check() of this file, all of it.
    lint: float

    @property
    def ratio(self) -> float:
        return self.own / self.parse


class ParseClock:
    """Times every `libcst.parse_module` that the linter calls, by the content that is parsed."""

    def __init__(self) -> None:
        self.by_content: Counter[bytes] = Counter()
        self.total = 0.0

    def wrap(self, parse: Callable[..., libcst.Module]) -> Callable[..., libcst.Module]:
        def timed(source: str | bytes, *args: object, **kwargs: object) -> libcst.Module:
            start = time.process_time()
            try:
                return parse(source, *args, **kwargs)
            finally:
                spent = time.process_time() - start
                self.by_content[digest(source)] += spent
                self.total += spent

        return timed

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the clock wherever `parse_module` is bound in LibCST or in the linter."""
        original = libcst.parse_module
        timed = self.wrap(original)
        bound = [
            (module, name)
            for key, module in list(sys.modules.items())
            if key == "libcst" or key.startswith("trl_lint")
            for name, value in list(vars(module).items())
            if value is original
        ]
        for module, name in bound:
            setattr(module, name, timed)
        try:
            yield
        finally:
            for module, name in bound:
                setattr(module, name, original)


def digest(source: str | bytes) -> bytes:
    """A key for a text; its line ends and BOM do not matter, as a linter may decode it before it parses."""
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    return hashlib.blake2b(text.lstrip("\ufeff").encode(), digest_size=16).digest()


def measure(corpus: Corpus) -> list[Timing]:
    """The timings of the candidate files of one corpus, with a fresh linter."""
    linter = new_linter(corpus.root)
    sources = {path: path.read_bytes() for path in corpus.files}
    candidates = {path: source for path, source in sources.items() if linter.may_matter(source)}
    clock, rows = ParseClock(), []
    for path, source in candidates.items():
        parse = _cpu(lambda source=source: libcst.parse_module(source))
        with clock.installed():
            before = clock.total
            lint = _cpu(lambda path=path, source=source: linter.check(path, source))
            rows.append((path, source, parse, lint, lint - (clock.total - before)))
    return [
        Timing(
            str(corpus), _relative(path, corpus.root), parse, rest + clock.by_content[digest(source)], lint
        )
        for path, source, parse, lint, rest in rows
    ]


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def warm_up() -> None:
    """Load LibCST, its parser and the rules before the clock starts: they cost the same for any tree."""
    libcst.parse_module("import torch\n")
    new_linter(Path.cwd()).check(Path("warm_up.py"), b"import torch\n")


def report(timings: Sequence[Timing]) -> str:
    """The ratio of every corpus and of the whole, and the five worst files."""
    rows: list[tuple[object, ...]] = [
        ("corpus", "files", "parse s", "lint s", "ratio", "worst file", "ratio")
    ]
    for name in [*dict.fromkeys(timing.corpus for timing in timings), "total"]:
        chosen = [timing for timing in timings if name in (timing.corpus, "total")]
        worst = max(chosen, key=lambda timing: timing.ratio)
        parse, lint = sum(t.parse for t in chosen), sum(t.lint for t in chosen)
        numbers = (f"{parse:.2f}", f"{lint:.2f}", f"{lint / parse:.2f}", worst.file, f"{worst.ratio:.2f}")
        rows.append((name, len(chosen), *numbers))
    ranked = sorted(timings, key=lambda timing: -timing.ratio)[:5]
    slowest = [("slowest files", "parse s", "own s", "ratio")]
    slowest += [(t.file, f"{t.parse:.3f}", f"{t.own:.3f}", f"{t.ratio:.2f}") for t in ranked]
    return table(rows) + "\n\n" + table(slowest)


def passed(timings: Sequence[Timing]) -> bool:
    """Whether both limits are kept."""
    total = sum(t.lint for t in timings) / sum(t.parse for t in timings)
    return total <= MAX_TOTAL and all(timing.ratio <= MAX_FILE for timing in timings)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the timings as JSON")
    options = parser.parse_args(arguments)
    warm_up()
    timings = [timing for corpus in SPEED for timing in measure(corpus)]
    if options.json:
        print(json.dumps([vars(timing) for timing in timings], indent=1))
    else:
        print(report(timings))
    return PASSED if passed(timings) else FAILED


if __name__ == "__main__":
    run(main)

"""The table of bugs that later releases fixed (`trl_lint/knowledge/upstream.py`), generated from the releases.

    python -m evaluation.upstream [--write]

Each case of the history that is visible to a rule names functions, the last release with the bug and the first without.
The text of such a function is looked up in that release and in those before it, as long as the rule reports it there.
Without `--write` the command reports missing and superfluous rows of the table; exit code 1 when there are any.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.common import FAILED, PASSED, run, symbols
from evaluation.history import load, project
from trl_lint.knowledge import upstream as table
from trl_lint.knowledge.upstream import FixedBug
from trl_lint.linter.upstream import digest

# Releases in which functions are looked up; older trainers have been rewritten since.
_RELEASES = """
    0.2.1 0.4.7 0.7.4 0.7.10 0.7.11 0.8.1 0.9.4 0.9.6 0.10.1 0.11.4 0.12.2 0.13.0 0.14.0 0.15.0 0.15.2 0.16.0 0.16.1
    0.17.0 0.18.0 0.18.2 0.19.0 0.20.0 0.21.0 0.22.2 0.23.0 0.24.0 0.25.1 0.26.2 0.27.0 0.28.0 0.29.0 1.0.0 1.1.0 1.2.0
    1.3.0 1.4.0 1.5.1 1.6.0 1.7.0 1.8.0
"""
RELEASES = tuple(_RELEASES.split())


def mended_functions() -> Iterator[FixedBug]:
    """A row for each function of the history whose bug a rule sees and a release fixed."""
    for case in load("trl_cases.json"):
        if case["static"] == "no" or not case["buggy_release"] or not case["rule"].startswith("TRL"):
            continue
        for file, symbol in sorted({(site["file"], site["symbol"]) for site in case["sites"]}):
            found = dict.fromkeys(_digests(case["rule"], file, symbol, case["buggy_release"]))
            if found:
                fixed = case["fixed_release"].split()[0]
                yield FixedBug(case["rule"], symbol, case["buggy_release"], fixed, case["pr"], tuple(found))


def _digests(rule: str, file: str, symbol: str, last: str) -> Iterator[str]:
    """The digests from the last release with the bug backwards, until the rule reports nothing in the function."""
    known = RELEASES if last in RELEASES else [*RELEASES, last]
    older = [each for each in known if _number(each) <= _number(last)]
    for release in sorted(older, key=_number, reverse=True):
        spans = _spans(release, file, symbol)
        lines = project(release).text(file).decode().splitlines() if spans else []
        found = (
            {line for finding in project(release).findings(file, rule) for line in finding.lines} if spans else set()
        )
        reported = [span for span in spans if any(span[0] <= line <= span[1] for line in found)]
        if not reported:
            return
        for first, last_line in reported:
            yield digest(_from_def(lines[first - 1 : last_line]))


def _spans(release: str, file: str, symbol: str) -> list[tuple[int, int]]:
    there = project(release)
    return symbols(there.text(file)).get(symbol, []) if there.has(file) else []


def _from_def(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a function without its decorators."""
    first = next((place for place, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))), 0)
    return lines[first:]


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def written(rows: Sequence[FixedBug]) -> str:
    """The table as it is in the module."""
    lines = ["# fmt: off", "ROWS: tuple[FixedBug, ...] = ("]
    for row in rows:
        head = ", ".join(f'"{value}"' for value in row[:5])
        lines.append(f"    FixedBug({head}, (")
        lines += [f'        "{each}",' for each in row.digests]
        lines.append("    )),")
    return "\n".join([*lines, ")", "# fmt: on", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args(arguments)
    rows = sorted(mended_functions())
    if options.write:
        path = Path(table.__file__)
        text = path.read_text(encoding="utf-8")
        starts = [place for mark in ("# fmt: off", "ROWS: ") if (place := text.find(mark)) >= 0]
        path.write_text(text[: min(starts)] + written(rows), encoding="utf-8")
        print(f"{len(rows)} functions, {sum(len(row.digests) for row in rows)} texts")
        return PASSED
    new, old = set(rows) - set(table.ROWS), set(table.ROWS) - set(rows)
    for name, each in (("not in the table", new), ("not in the releases", old)):
        for row in sorted(each):
            print(f"{name}: {row.rule} {row.symbol} of trl {row.last}")
    return FAILED if new or old else PASSED


if __name__ == "__main__":
    run(main)

"""Launches benchmark: what TRL004 reports in the documentation and scripts of releases, compared with people's
verdicts.

    python -m evaluation.launches [--only PACKAGE] [--list]

Each release is a source distribution, linted as one project with the default settings: files of all kinds count.
`cases/launches.json` says of each finding whether it is real, debatable or false, and why. `--list` prints those
without a verdict, with their text. Exit code 1 when there is one, when a judged line no longer has a finding, or when
more than one finding in twenty is a false alarm.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.common import FAILED, PASSED, run, table
from evaluation.corpora import LAUNCHES, Corpus
from trl_lint.findings import Finding
from trl_lint.launch.parsers import readers
from trl_lint.launch.parsers.notebook_places import CellPlaces
from trl_lint.linter.files.discovery import import_roots
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

CODE = "TRL004"
CASES = Path(__file__).parent / "cases" / "launches.json"
VERDICTS = ("real", "debatable", "false")
UNJUDGED = "unjudged"
# At most one false alarm per this many findings is accepted.
BORNE = 20

# A place is a file of a package and a line.
Place = tuple[str, str, int]


@dataclass
class Outcome:
    """The result of linting one release: how many files could start Python, and the findings in them by place."""

    package: str
    files: int = 0
    findings: dict[Place, Finding] = field(default_factory=dict)
    texts: dict[Place, str] = field(default_factory=dict)


def lint(corpus: Corpus) -> Outcome:
    """Lint every file of a release that may contain a launch command."""
    outcome, root = Outcome(str(corpus)), corpus.root
    linter = new_linter(root)
    for path in sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink()):
        data = path.read_bytes()
        if readers.may_start(path, data):
            outcome.files += 1
            add(outcome, path.relative_to(root).as_posix(), data, linter.check(path, data))
    return outcome


def new_linter(root: Path) -> Linter:
    """The linter that the command line creates for a folder without settings."""
    return Linter(Settings(root=root), import_roots(root, [root]), [find_rule(CODE)])


def add(outcome: Outcome, name: str, data: bytes, findings: Iterable[Finding]) -> None:
    lines = data.decode("utf-8", "replace").splitlines()
    for finding in findings:
        start = finding.start
        line = CellPlaces(data.decode()).in_file(start).line if start.cell else start.line
        place = (outcome.package, name, line)
        outcome.findings[place] = finding
        outcome.texts[place] = lines[line - 1].strip()


def judged(rows: Iterable[Mapping]) -> dict[Place, str]:
    """The verdict on each place that has one."""
    return {(row["package"], row["file"], line): row["verdict"] for row in rows for line in row["lines"]}


def counts(outcome: Outcome, verdicts: Mapping[Place, str]) -> Counter[str]:
    """How many findings have each verdict."""
    return Counter(verdicts.get(place, UNJUDGED) for place in outcome.findings)


def gone(outcomes: Sequence[Outcome], verdicts: Mapping[Place, str]) -> list[Place]:
    """The judged places in these releases that have no finding: a false alarm that was fixed, or a miss."""
    packages = {each.package for each in outcomes}
    found = {place for each in outcomes for place in each.findings}
    return [place for place in verdicts if place[0] in packages and place not in found]


def holds(numbers: Counter[str]) -> bool:
    """Whether all are judged, and no more false ones than accepted."""
    return not numbers[UNJUDGED] and numbers["false"] * BORNE <= numbers.total()


def report(outcomes: Sequence[Outcome], verdicts: Mapping[Place, str]) -> str:
    shown = (*VERDICTS, UNJUDGED)
    rows: list[tuple[object, ...]] = [("package", "files", "findings", *shown)]
    for outcome in outcomes:
        numbers = counts(outcome, verdicts)
        rows.append((outcome.package, outcome.files, numbers.total(), *(numbers[each] for each in shown)))
    rows.append(("all", *(sum(row[place] for row in rows[1:]) for place in range(1, len(rows[0])))))
    return table(rows)


def unjudged(outcomes: Iterable[Outcome], verdicts: Mapping[Place, str]) -> Iterator[str]:
    for outcome in outcomes:
        for place, finding in outcome.findings.items():
            if place not in verdicts:
                package, name, line = place
                yield f"{package} {name}:{line}: {outcome.texts[place]}\n    {finding.message}"
                yield from (f"    {step.path}:{step.start.line}: {step.text}" for step in finding.because)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="PACKAGE", help="only the releases of this package")
    parser.add_argument("--list", action="store_true", help="print the findings that are not judged")
    options = parser.parse_args(arguments)
    verdicts = judged(json.loads(CASES.read_text(encoding="utf-8")))
    outcomes = [lint(corpus) for corpus in LAUNCHES if options.only in (None, corpus.release.package)]
    print(report(outcomes, verdicts))
    if options.list:
        print("\n".join(unjudged(outcomes, verdicts)))
    missing = gone(outcomes, verdicts)
    for package, name, line in missing:
        print(f"judged, and found no more: {package} {name}:{line}")
    numbers = sum((counts(each, verdicts) for each in outcomes), Counter())
    return PASSED if holds(numbers) and not missing else FAILED


if __name__ == "__main__":
    run(main)

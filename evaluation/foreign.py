"""Precision on code that is not TRL's: what all rules report on foreign code bases, compared with people's verdicts.

    python -m evaluation.foreign [--mirrors DIR] [--only TEXT] [--sources N] [--json | --rows]

Each code base is a commit (`cases/foreign.json`) or a release on the package index (`cases/ecosystem.json`), linted as
one project with everything selected, preview rules too. These tables say of each finding that was read whether it is
real (a crash, a hang, a wrong number or a wrong training on several processes), minor (true, with little harm),
debatable or false, and why. Findings without a verdict are printed, to be read; with `--rows`, as rows for the tables.
A second table says how many of them are in the default set, which users see who select nothing.
Exit code 1 when a finding has no verdict, when one judged false is still reported, or when a real one is gone or not in
that set. A code base that is unavailable is skipped, with the reason; exit code 2 if that is all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from evaluation.checkouts import Checkout, NotToBeHad, tree_of
from evaluation.common import FAILED, NOT_RUN, PASSED, run, table
from evaluation.releases import IndexUnreachable, Release, fetch
from trl_lint import api
from trl_lint.findings import Finding, Position
from trl_lint.launch.parsers.notebook_places import CellPlaces
from trl_lint.pins import pinned_releases
from trl_lint.rules import find_rule
from trl_lint.settings import EVERY_RULE, Settings

# Commits of git repositories, and releases on the package index.
TABLES = tuple(Path(__file__).parent / "cases" / name for name in ("foreign.json", "ecosystem.json"))
VERDICTS = ("real", "minor", "debatable", "false")


@dataclass(frozen=True, order=True)
class Dependent(Release):
    """A release that depends on these releases of trl and transformers: the newest that its metadata allow.

    Without them it would be linted for the releases that happen to be installed here.
    """

    trl: str | None = None
    transformers: str | None = None


CodeBase = Checkout | Dependent


@dataclass(frozen=True, order=True)
class Judged:
    """The verdict of a person who read a finding."""

    code_base: str
    file: str
    line: int
    rule: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Reported:
    """A finding as the benchmark shows it: its file within the code base, and the text of the line it starts in.

    A finding that covers several places becomes one for each. branches: the lines of the conditions under which ranks
    leave there.
    """

    code_base: str
    file: str
    line: int
    end: int
    rule: str
    message: str
    text: str
    because: tuple[str, ...] = ()
    by_default: bool = True
    branches: tuple[int, ...] = ()


@dataclass
class Outcome:
    """The result of linting one code base.

    problems: the linter's messages on files that it could not read.
    """

    code_base: CodeBase
    tree: Path
    reported: list[Reported]
    problems: list[str] = field(default_factory=list)
    # Verdicts that have a finding, and those that no longer have one.
    kept: list[Judged] = field(default_factory=list)
    gone: list[Judged] = field(default_factory=list)
    unjudged: list[Reported] = field(default_factory=list)
    # Of the verdicts that have a finding, those whose finding is in the default set.
    by_default: list[Judged] = field(default_factory=list)


def read_cases(*tables: Path) -> dict[CodeBase, list[Judged]]:
    """The code bases of some tables (all of them if none is given), each with the verdicts on its findings."""
    found: dict[CodeBase, list[Judged]] = {}
    for path in tables or TABLES:
        for each in json.loads(path.read_text(encoding="utf-8")):
            verdicts = each.pop("verdicts")
            code_base = Dependent(**each) if "package" in each else Checkout(**each)
            found[code_base] = [Judged(name_of(code_base), **row) for row in verdicts]
    return found


def name_of(code_base: CodeBase) -> str:
    """The repository or the package."""
    return code_base.repository if isinstance(code_base, Checkout) else code_base.package


def files_of(code_base: Checkout | Release, mirrors: Path | None) -> Path:
    """The folder with the files of a code base.

    Raises:
        NotToBeHad: no available git directory has the commit, or there is none.
        IndexUnreachable: the release is not in the cache and pip could not fetch it.
    """
    return tree_of(code_base, mirrors) if isinstance(code_base, Checkout) else fetch(code_base)


def lint(code_base: CodeBase, tree: Path) -> Outcome:
    """Lint all files of a code base together, as a user in its top folder does."""
    problems: list[str] = []
    try:
        findings = api.check(tree, settings_for(code_base, tree))
    except api.LintError as error:
        findings, problems = error.findings, error.problems
    lines = Lines(tree)
    reported = [each for finding in findings for each in reported_of(finding, name_of(code_base), lines)]
    return Outcome(code_base, tree, reported, [each.replace(f"{tree}/", "") for each in problems])


def settings_for(code_base: CodeBase, tree: Path) -> Settings:
    everything = Settings(root=tree, select=(EVERY_RULE,), preview=True)
    if isinstance(code_base, Checkout):
        return everything.with_targets(pinned_releases(tree))
    return replace(everything, target_trl=code_base.trl, target_transformers=code_base.transformers)


class Lines:
    """The lines of the files of a tree."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self._read: dict[str, list[str]] = {}

    def of(self, name: str) -> list[str]:
        if name not in self._read:
            path = self.tree / name
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            self._read[name] = text.splitlines()
        return self._read[name]

    def text(self, name: str, line: int) -> str:
        """A line without its indentation; "" if the file has no line of that number."""
        lines = self.of(name)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def number(self, name: str, place: Position) -> int:
        """The line of the file for a position, which may be in a cell."""
        if not place.cell:
            return place.line
        return CellPlaces((self.tree / name).read_text(encoding="utf-8")).in_file(place).line


def reported_of(finding: Finding, code_base: str, lines: Lines) -> Iterator[Reported]:
    name = _within(finding.path, lines.tree)
    start, end, *branches = (lines.number(name, each) for each in (finding.start, finding.end, *finding.branches))
    because = tuple(
        f"{(file := _within(note.path, lines.tree))}:{lines.number(file, note.start)}: {note.text}"
        for note in finding.because
    )
    text = lines.text(name, start)
    said = (finding.code, finding.message, text, because, finding.by_default)
    yield Reported(code_base, name, start, end, *said, branches=tuple(branches))
    told_with = (f"{name}:{start}: told with the finding here, as one",)
    for each in finding.also:
        name = _within(each.path, lines.tree)
        line = lines.number(name, each.start)
        said = (each.code, each.message, lines.text(name, line), told_with, finding.by_default)
        yield Reported(code_base, name, line, line, *said)


def _within(path: str, tree: Path) -> str:
    here = Path(path)
    return here.relative_to(tree).as_posix() if here.is_relative_to(tree) else here.as_posix()


def compare(outcome: Outcome, verdicts: Iterable[Judged]) -> None:
    """Determine which verdicts have a finding, which have none, and which findings have no verdict.

    A verdict on a line is on all findings of its rule there, and on those where ranks leave by its condition. If its
    line has none, it is on at most one other finding of its rule in the file: the one whose range holds the line,
    otherwise one whose line has the same text.
    """
    lines = Lines(outcome.tree)
    left = {each: None for each in outcome.reported}
    moved: list[Judged] = []
    for verdict in verdicts:
        here = [each for each in outcome.reported if _same_rule(each, verdict) and _is_at(each, verdict.line)]
        for each in here:
            left.pop(each, None)
        (outcome.kept if here else moved).append(verdict)
        if any(each.by_default for each in here):
            outcome.by_default.append(verdict)
    for verdict in moved:
        near = _moved(verdict, left, lines)
        if near:
            del left[near]
            outcome.by_default += [verdict] * near.by_default
        (outcome.kept if near else outcome.gone).append(verdict)
    outcome.unjudged.extend(left)


def _is_at(reported: Reported, line: int) -> bool:
    return line in (reported.line, *reported.branches)


def _same_rule(reported: Reported, verdict: Judged) -> bool:
    return (reported.file, reported.rule) == (verdict.file, verdict.rule)


def _moved(verdict: Judged, left: Iterable[Reported], lines: Lines) -> Reported | None:
    """The finding that a verdict is on, if its line has none."""
    text = lines.text(verdict.file, verdict.line)
    able = [each for each in left if _same_rule(each, verdict)]
    around = [each for each in able if each.line <= verdict.line <= each.end]
    return next(iter(around + [each for each in able if text and each.text == text]), None)


def rows(outcomes: Sequence[Outcome]) -> list[tuple[object, ...]]:
    """By rule and verdict, how many judged findings are still reported; and the findings that have no verdict."""
    kept = Counter((each.rule, each.verdict) for outcome in outcomes for each in outcome.kept)
    gone = Counter((each.rule, each.verdict) for outcome in outcomes for each in outcome.gone)
    unjudged = Counter(each.rule for outcome in outcomes for each in outcome.unjudged)
    rules = sorted({rule for rule, _ in kept | gone} | set(unjudged))
    shown: list[tuple[object, ...]] = [("rule", *VERDICTS, "unjudged")]
    for rule in rules:
        cells = (_share(kept[rule, verdict], gone[rule, verdict]) for verdict in VERDICTS)
        shown.append((rule, *cells, unjudged[rule] or ""))
    totals = (_share(_of(kept, verdict), _of(gone, verdict)) for verdict in VERDICTS)
    return [*shown, ("all", *totals, unjudged.total() or "")]


def default_rows(outcomes: Sequence[Outcome]) -> list[tuple[object, ...]]:
    """By rule and verdict, how many of those still reported are in the default set."""
    kept = Counter((each.rule, each.verdict) for outcome in outcomes for each in outcome.kept)
    default = Counter((each.rule, each.verdict) for outcome in outcomes for each in outcome.by_default)
    shown: list[tuple[object, ...]] = [("rule", *VERDICTS)]
    for rule in sorted({rule for rule, _ in kept}):
        shown.append((rule, *(_part(default[rule, verdict], kept[rule, verdict]) for verdict in VERDICTS)))
    return [*shown, ("all", *(_part(_of(default, verdict), _of(kept, verdict)) for verdict in VERDICTS))]


def _part(some: int, every: int) -> str:
    return f"{some}/{every}" if every else ""


def _of(counter: Mapping[tuple[str, str], int], verdict: str) -> int:
    return sum(count for (_, each), count in counter.items() if each == verdict)


def _share(kept: int, gone: int) -> str:
    """`3/5`: three of five that were judged like this are still reported."""
    return f"{kept}/{kept + gone}" if kept + gone else ""


def wrong(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each reported finding judged false, and each real one that is gone or not in the default set."""
    found = list(outcomes)
    alarms = [each for outcome in found for each in outcome.kept if each.verdict == "false"]
    missed = [each for outcome in found for each in outcome.gone if each.verdict == "real"]
    unseen = [
        each
        for outcome in found
        for each in outcome.kept
        if each.verdict == "real" and each not in outcome.by_default and not _is_preview(each.rule)
    ]
    said = (
        ("judged false, still reported", alarms),
        ("judged real, gone", missed),
        ("judged real, not in the default set", unseen),
    )
    return [f"{what}: {_place(each)}: {each.reason}" for what, rows in said for each in sorted(rows)]


def _is_preview(code: str) -> bool:
    rule = find_rule(code)
    return rule is not None and rule.preview


def _place(row: Judged | Reported) -> str:
    return f"{row.code_base} {row.file}:{row.line}: {row.rule}"


def to_be_read(outcome: Outcome, around: int) -> Iterator[str]:
    """The findings without a verdict, each with its chain and the lines around it."""
    lines = Lines(outcome.tree)
    for each in outcome.unjudged:
        yield f"{_place(each)} {each.message}"
        yield from (f"    {note}" for note in each.because)
        if around:
            yield from _source(lines.of(each.file), each.line, around)


def _source(lines: Sequence[str], line: int, around: int) -> Iterator[str]:
    first, last = max(1, line - around), min(len(lines), line + around)
    for number in range(first, last + 1):
        yield f"{'>' if number == line else ' '}{number:6} | {lines[number - 1]}"


def gather(cases: Mapping[CodeBase, list[Judged]], mirrors: Path | None) -> tuple[list[Outcome], dict[CodeBase, str]]:
    """The result of linting each code base; and the code bases that are skipped, each with the reason."""
    skipped: dict[CodeBase, str] = {}
    outcomes = list(each_linted(cases, mirrors, skipped))
    for outcome in outcomes:
        compare(outcome, cases[outcome.code_base])
    return outcomes, skipped


def each_linted(
    code_bases: Iterable[CodeBase], mirrors: Path | None, skipped: dict[CodeBase, str]
) -> Iterator[Outcome]:
    """The result of linting each code base. The reasons of those that are unavailable are put into `skipped`."""
    for code_base in code_bases:
        try:
            yield lint(code_base, files_of(code_base, mirrors))
        except (NotToBeHad, IndexUnreachable) as error:
            skipped[code_base] = str(error)


def as_json(outcomes: Iterable[Outcome], skipped: Mapping[CodeBase, str]) -> str:
    """Everything as JSON for programs. The text of lines is left out: it is not ours to pass on."""
    code_bases = [
        {
            **asdict(outcome.code_base),
            "kept": [asdict(each) for each in outcome.kept],
            "gone": [asdict(each) for each in outcome.gone],
            "unjudged": [
                {key: value for key, value in asdict(each).items() if key != "text"} for each in outcome.unjudged
            ],
            "by_default": [asdict(each) for each in outcome.by_default],
            "problems": outcome.problems,
        }
        for outcome in outcomes
    ]
    return json.dumps(
        {"code_bases": code_bases, "skipped": [{**asdict(each), "why": why} for each, why in skipped.items()]}, indent=2
    )


def as_rows(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The findings without a verdict as rows of the tables, with the verdict and the reason to be filled in."""
    for outcome in outcomes:
        places = sorted({(each.file, each.line, each.rule) for each in outcome.unjudged})
        if places:
            yield str(outcome.code_base)
        for file, line, rule in places:
            row = {"file": file, "line": line, "rule": rule, "verdict": "", "reason": ""}
            yield f"    {json.dumps(row)},"


def report(outcomes: Sequence[Outcome], skipped: Mapping[CodeBase, str], around: int) -> Iterator[str]:
    for code_base, why in skipped.items():
        yield f"skipped: {code_base}: {why}"
    for outcome in outcomes:
        yield from (f"{name_of(outcome.code_base)}: {problem}" for problem in outcome.problems)
        yield from to_be_read(outcome, around)
    yield "still reported / judged, by verdict"
    yield table(rows(outcomes))
    yield "in the default set / still reported, by verdict"
    yield table(default_rows(outcomes))
    yield from wrong(outcomes)
    yield counted(outcomes, skipped)


def counted(outcomes: Sequence[Outcome], skipped: Mapping[CodeBase, str]) -> str:
    """How many code bases of which kind were linted."""
    releases = sum(isinstance(each.code_base, Release) for each in outcomes)
    findings = sum(len(each.reported) for each in outcomes)
    unjudged = sum(len(each.unjudged) for each in outcomes)
    return (
        f"{len(outcomes)} code bases linted ({len(outcomes) - releases} commits, {releases} releases), "
        f"{len(skipped)} skipped; {findings} findings, {unjudged} of them without a verdict"
    )


def options_of(doc: str | None) -> argparse.ArgumentParser:
    """The options of the benchmarks on commits of code bases: where they are, which ones, and in which form."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--mirrors", type=Path, metavar="DIR", help="where bare git mirrors lie, as OWNER+NAME")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the code bases whose name has this text")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    return parser


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = options_of(__doc__)
    parser.add_argument("--sources", type=int, default=0, metavar="N", help="N lines around each unjudged finding")
    parser.add_argument("--rows", action="store_true", help="only the unjudged findings, as rows for the tables")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    cases = {each: rows for each, rows in read_cases().items() if options.only in name_of(each)}
    if not cases:
        print(f"no code base has `{options.only}` in its name", file=sys.stderr)
        return NOT_RUN
    outcomes, skipped = gather(cases, options.mirrors)
    if options.json:
        print(as_json(outcomes, skipped))
    else:
        print("\n".join(as_rows(outcomes) if options.rows else report(outcomes, skipped, options.sources)))
    if not outcomes:
        return NOT_RUN
    return FAILED if wrong(outcomes) or any(each.unjudged for each in outcomes) else PASSED


if __name__ == "__main__":
    run(main)

"""Recall on code that is not TRL's: which of the multi-process bugs that others have fixed are found?

    python -m evaluation.known_bugs --mirrors DIR [--only TEXT] [--json]

`cases/known_bugs.json` names commits of public code bases that have a bug, each with the file and lines where a finding
counts (one in a helper counts as well, if it says that the helper is called there), the rules that may report it, and
the commit, issue or pull request that shows that it is a bug. Each commit is linted as one project with all rules,
preview rules too. Bugs of a kind that no rule claims to find (`scope` is false, `why` gives the reason) are listed and
not counted. `cause` and `miss` say why one is not found: the misses are shown by cause.
Exit code 1 when a bug is not found and the table gives no cause. A code base that is unavailable is skipped, with the
reason; exit code 2 if that is all of them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from evaluation.checkouts import Checkout
from evaluation.common import FAILED, NOT_RUN, PASSED, run, table
from evaluation.foreign import CodeBase, Outcome, Reported, each_linted, options_of

CASES = Path(__file__).parent / "cases" / "known_bugs.json"
UNKNOWN = "not looked into"


@dataclass(frozen=True)
class Bug:
    """A bug that others have shown to be one, at a commit that has it.

    Attributes:
        lines: Where a finding counts, as (first, last).
        rules: The rules that may report it; none if no rule is near.
        source: The commit, issue or pull request that shows that it is a bug.
        what: What goes wrong, and on which launch.
        why: For a bug out of scope, why no rule claims it.
        cause: For a missed bug, what keeps the linter from it, in the words that others of its kind have.
        miss: The same in detail.
    """

    checkout: Checkout
    file: str
    lines: tuple[tuple[int, int], ...]
    rules: tuple[str, ...]
    scope: bool
    source: str
    what: str
    why: str = ""
    cause: str = ""
    miss: str = ""

    @property
    def place(self) -> str:
        rules = "/".join(self.rules) or "no rule"
        return f"{self.checkout} {self.file}:{self.lines[0][0]} ({rules})"

    def is_said_by(self, reported: Reported) -> bool:
        """Whether a finding is here, or is in a helper and says that the helper is called here."""
        if reported.rule not in self.rules:
            return False
        spans = [(line, line) for file, line in _calls_of(reported) if file == self.file]
        if reported.file == self.file:
            spans += [(reported.line, reported.end), *((line, line) for line in reported.branches)]
        return any(first <= end and start <= last for first, last in self.lines for start, end in spans)


def _calls_of(reported: Reported) -> Iterator[tuple[str, int]]:
    """The places at which, according to a finding, its function is called."""
    for note in reported.because:
        place = re.fullmatch(r"(.+?):(\d+): called here: .*", note)
        if place is not None:
            yield place[1], int(place[2])


@dataclass
class Recall:
    """The bugs of the table that were looked for."""

    found: list[Bug] = field(default_factory=list)
    missed: list[Bug] = field(default_factory=list)
    skipped: dict[CodeBase, str] = field(default_factory=dict)
    # Files that could not be linted: misses in them do not count.
    problems: list[str] = field(default_factory=list)

    def count(self, outcome: Outcome, bugs: Iterable[Bug]) -> None:
        self.problems += [f"{outcome.code_base}: {problem}" for problem in outcome.problems]
        for bug in bugs:
            said = any(bug.is_said_by(each) for each in outcome.reported)
            (self.found if said else self.missed).append(bug)


def read_cases(path: Path = CASES) -> dict[CodeBase, list[Bug]]:
    """The commits, each with its bugs."""
    cases: dict[CodeBase, list[Bug]] = {}
    for each in json.loads(path.read_text(encoding="utf-8")):
        checkout = Checkout(each["repository"], each["commit"])
        cases[checkout] = [_bug_of(checkout, row) for row in each["bugs"]]
    return cases


def _bug_of(checkout: Checkout, row: dict[str, object]) -> Bug:
    lines = tuple((first, last) for first, last in row.pop("lines"))  # type: ignore[attr-defined]
    return Bug(checkout, lines=lines, rules=tuple(row.pop("rules")), **row)  # type: ignore[arg-type]


def measure(cases: Mapping[CodeBase, list[Bug]], mirrors: Path | None) -> Recall:
    recall = Recall()
    for outcome in each_linted(cases, mirrors, recall.skipped):
        recall.count(outcome, cases[outcome.code_base])
    return recall


def rows(recall: Recall) -> list[tuple[object, ...]]:
    """By rule (the first that may report it), how many bugs in scope are found; and those out of scope."""
    found = Counter(_rule(bug) for bug in recall.found if bug.scope)
    missed = Counter(_rule(bug) for bug in recall.missed if bug.scope)
    outside = Counter(_rule(bug) for bug in [*recall.found, *recall.missed] if not bug.scope)
    shown: list[tuple[object, ...]] = [("rule", "found", "out of scope")]
    for rule in sorted({*found, *missed, *outside}):
        shown.append((rule, _share(found[rule], missed[rule]), outside[rule] or ""))
    return [*shown, ("all", _share(found.total(), missed.total()), outside.total() or "")]


def _rule(bug: Bug) -> str:
    return bug.rules[0] if bug.rules else "none"


def _share(found: int, missed: int) -> str:
    return f"{found}/{found + missed}" if found + missed else ""


def by_cause(bugs: Iterable[Bug]) -> list[tuple[str, list[Bug]]]:
    """Missed bugs by cause, the most frequent cause first."""
    groups: dict[str, list[Bug]] = defaultdict(list)
    for bug in bugs:
        groups[bug.cause or UNKNOWN].append(bug)
    return sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))


def unexplained(recall: Recall) -> list[Bug]:
    """The bugs that should be found and are missed without a cause."""
    return [bug for bug in recall.missed if bug.scope and not bug.cause]


def report(recall: Recall) -> Iterator[str]:
    for checkout, why in recall.skipped.items():
        yield f"skipped: {checkout}: {why}"
    yield from recall.problems
    yield "found / in scope, by rule"
    yield table(rows(recall))
    for cause, bugs in by_cause(bug for bug in recall.missed if bug.scope):
        yield f"missed, {len(bugs)}: {cause}"
        yield from (f"    {bug.place}: {bug.miss or bug.what}" for bug in bugs)
    for bug in recall.missed + recall.found:
        if not bug.scope:
            yield f"out of scope: {bug.place}: {bug.why}"
    yield from (f"found by now, with a cause in the table: {bug.place}" for bug in recall.found if bug.cause)


def as_json(recall: Recall) -> str:
    """Everything as JSON for programs."""
    return json.dumps(
        {
            "found": [asdict(bug) for bug in recall.found],
            "missed": [asdict(bug) for bug in recall.missed],
            "skipped": [{**asdict(each), "why": why} for each, why in recall.skipped.items()],
            "problems": recall.problems,
        },
        indent=2,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(__doc__).parse_args(arguments)
    cases = {each: bugs for each, bugs in read_cases().items() if options.only in each.repository}
    if not cases:
        print(f"no code base has `{options.only}` in its name", file=sys.stderr)
        return NOT_RUN
    recall = measure(cases, options.mirrors)
    print(as_json(recall) if options.json else "\n".join(report(recall)))
    if not recall.found and not recall.missed:
        return NOT_RUN
    return FAILED if unexplained(recall) else PASSED


if __name__ == "__main__":
    run(main)

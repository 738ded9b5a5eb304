"""Accuracy of all rules: what they find of the bugs in TRL's history, and whether what they report is right.

    python -m evaluation.accuracy [--only PACKAGE] [--list] [--json] [--output DIR]

Recall is that of `history.py`. Precision is that of the default rules on whole releases: each finding there has been
read, and `cases/judged.json` says what it is (real, debatable or false) and why. Each offered fix is applied in memory,
and holds if the linter's own check accepts it: the result parses, the finding is gone, and no new one appears.
A whole run writes `docs/accuracy.md`. `--list` prints the findings that are not judged yet, and the judgements of
findings that are no longer reported. Exit code 1 if there are any, or if more than 1 in 20 is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from evaluation.common import FAILED, PASSED, run, table
from evaluation.corpora import ACCELERATE, ACCELERATE_LOOPS, TRANSFORMERS, TRL, Corpus
from evaluation.history import ALL_RULES, CASES, GROUPS, Verdict, judge_all
from trl_lint.config import selected_rules
from trl_lint.findings import Applicability, Finding
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.rules import all_rules
from trl_lint.settings import EVERY_RULE, Settings

DOCS = Path(__file__).parents[1] / "docs"
# The releases for which at most one in twenty is promised, and those that are judged in addition.
PROMISED = (TRL, TRANSFORMERS, ACCELERATE)
JUDGED = (*PROMISED, ACCELERATE_LOOPS)
REAL, DEBATABLE, FALSE, UNJUDGED = "real", "debatable", "false", "unjudged"
MOST_FALSE = 1 / 20
LEAST_RECALL, LEAST_RECALL_OF_A_RULE = 0.9, 0.75


@dataclass(frozen=True, order=True)
class Place:
    """Where a finding is."""

    package: str
    rule: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.package} {self.file}:{self.line} {self.rule}"


class Judgement(NamedTuple):
    """What a finding was judged to be, why, and the cases of `proof/cases.py` that show it at run time."""

    verdict: str
    why: str
    proof: tuple[str, ...] = ()


@dataclass
class Found:
    """A finding, what it was judged to be and why, and whether its fix holds."""

    place: Place
    finding: Finding
    verdict: str = UNJUDGED
    why: str = ""
    proof: tuple[str, ...] = ()
    holds: bool = False

    @property
    def offered(self) -> Applicability | None:
        """The applicability of its fix; None if there is only a hint."""
        fix = self.finding.fix
        return fix.applicability if fix and fix.applicability is not Applicability.DISPLAY else None


@dataclass
class Judgements:
    """The contents of `judged.json`, by place."""

    rows: dict[Place, Judgement] = field(default_factory=dict)
    used: set[Place] = field(default_factory=set)

    @classmethod
    def load(cls, path: Path = CASES / "judged.json") -> Judgements:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            {
                Place(row["package"], row["rule"], row["file"], line): Judgement(
                    row["verdict"], row["why"], tuple(row.get("proof", ()))
                )
                for row in rows
                for line in row["lines"]
            }
        )

    def of(self, place: Place) -> Judgement:
        self.used.add(place)
        return self.rows.get(place, Judgement(UNJUDGED, ""))

    def left(self, packages: Iterable[str]) -> list[Place]:
        """The judgements of findings that are no longer reported."""
        looked_at = set(packages)
        return sorted(place for place in set(self.rows) - self.used if place.package in looked_at)


def findings_in(corpus: Corpus, judgements: Judgements, *, tries_fixes: bool = True) -> Iterator[Found]:
    """What all rules except previews report in the files of a release, and whether the fixes hold (if tried)."""
    root = corpus.root
    settings = Settings(select=(EVERY_RULE,))
    rules = [rule for rule in selected_rules(settings) if rule.code in ALL_RULES]
    linter = Linter(settings, (root,), rules)
    for path in corpus.files:
        source = path.read_bytes()
        if not (linter.analyses(path, source) or linter.may_launch(path, source)):
            continue  # as in any run
        try:
            found = linter.check(path, source)
        except SourceError:  # a template, or another version of Python
            continue
        if not found:
            continue
        held = {_key(each) for each in linter.fix(path, source, unsafe=True).applied} if tries_fixes else set()
        for finding in found:
            name = path.relative_to(root).as_posix()
            places = [Place(str(corpus), finding.code, name, line) for line in finding.lines]
            place = next((each for each in places if each in judgements.rows), places[0])
            yield Found(place, finding, *judgements.of(place), holds=_key(finding) in held)
            for each in finding.also:
                place = Place(str(corpus), each.code, name, each.start.line)
                yield Found(place, replace(finding, fix=None), *judgements.of(place))


def _key(finding: Finding) -> tuple[str, int, int, str]:
    return finding.code, finding.start.line, finding.start.column, finding.message


# --- figures --------------------------------------------------------------------------------------------


def recall(verdicts: Sequence[Verdict], group: str, rule: str | None = None) -> tuple[int, int]:
    """How many of a group's places are found, and how many there are."""
    chosen = [each for each in verdicts if each.group == group and rule in (None, each.rule)]
    return sum(each.found for each in chosen), len(chosen)


def rules_table(verdicts: Sequence[Verdict], found: Sequence[Found]) -> list[tuple[object, ...]]:
    """By rule: recall, alarms on right code, how its findings were judged, and fixes."""
    rows: list[tuple[object, ...]] = [
        ("rule", "recall", "partial", "look-alikes", "fixed", "findings", REAL, DEBATABLE, FALSE, "fixes", "hold")
    ]
    for rule in all_rules():
        if rule.code not in ALL_RULES:
            continue
        mine = [each for each in found if each.place.rule == rule.code]
        counts = Counter(each.verdict for each in mine)
        shares = [_share(*recall(verdicts, group, rule.code)) for group in ("site", "partial", "look-alike", "mended")]
        offered = [each for each in mine if each.offered]
        fixes = (_offers(offered), f"{sum(each.holds for each in offered)}/{len(offered)}" if offered else "")
        name = f"{rule.code} {rule.name}" + " (preview)" * rule.preview
        judged = (counts[each] for each in (REAL, DEBATABLE, FALSE))
        rows.append((name, *shares, len(mine), *judged, *fixes))
    return rows


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else ""


def _offers(offered: Sequence[Found]) -> str:
    counts = Counter(each.offered for each in offered)
    return ", ".join(f"{counts[level]} {level.value}" for level in Applicability if level and counts[level])


def false_share(found: Sequence[Found]) -> float:
    """The share of false alarms in the releases for which at most one in twenty is promised."""
    promised = {str(corpus) for corpus in PROMISED}
    mine = [each for each in found if each.place.package in promised]
    return sum(each.verdict == FALSE for each in mine) / len(mine) if mine else 0.0


def failures(verdicts: Sequence[Verdict], found: Sequence[Found], stale: Sequence[Place]) -> list[str]:
    """A line for each requirement that is not met."""
    low = ((name, counts) for name, counts, least in _recalls(verdicts) if _below(counts, least))
    return [
        *(f"recall of {name} is {_share(*counts)}" for name, counts in low),
        *(f"{each.rule} reports right code: {each.place}" for each in verdicts if each.found and _is_right_code(each)),
        *(f"not judged: {each.place}: {each.finding.message}" for each in found if each.verdict == UNJUDGED),
        *(f"judged, but not reported: {place}" for place in stale),
        *([f"{false_share(found):.0%} are false alarms"] if false_share(found) > MOST_FALSE else []),
    ]


def _is_right_code(verdict: Verdict) -> bool:
    return verdict.group in ("look-alike", "mended")


def _recalls(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, tuple[int, int], float]]:
    yield "all rules", recall(verdicts, "site"), LEAST_RECALL
    for rule in ALL_RULES:
        yield rule, recall(verdicts, "site", rule), LEAST_RECALL_OF_A_RULE


def _below(counts: tuple[int, int], least: float) -> bool:
    return counts[1] > 0 and counts[0] < least * counts[1]


# --- the page -------------------------------------------------------------------------------------------

HEAD = """# Accuracy

`python -m evaluation.accuracy` generates this page. It lints releases from PyPI and runs nothing of them.

- **Recall** covers the bugs of TRL's history whose release, file and line are known
  (`evaluation/cases/trl_cases.json`). **Partial** are sites that show only in part.
- **Look-alikes** are correct code that resembles a bug, and **fixed** are the functions of the release that fixed one.
  A finding there is a false alarm.
- **Findings** are those of all rules except previews on {corpora}. Each was read and judged
  (`evaluation/cases/judged.json`): *real* (a bug on several processes), *debatable* (true as reported, but harmless or
  correct the way the code is run), or *false*. At most one in twenty may be false; it is {share:.1%} of {count}.
- **Fixes** are those offered. A fix **holds** if the fixed file parses, the finding is gone and no new one appears.
"""


def page(verdicts: Sequence[Verdict], found: Sequence[Found]) -> str:
    """`docs/accuracy.md`."""
    promised = [each for each in found if each.place.package in {str(corpus) for corpus in PROMISED}]
    parts = [
        HEAD.format(corpora=_listed([str(each) for each in PROMISED]), share=false_share(found), count=len(promised)),
        "## By rule\n",
        _markdown(rules_table(verdicts, promised)),
        "\n## What is missed\n",
        *(_missed(verdicts) or ["Nothing."]),
        "\n## Real bugs in trl 1.16.0\n",
        'Found in the release as published, and read. "Fix" is what `trl-lint` offers. "Run" links the case of '
        "[verified.md](verified.md) that shows the bug on two processes, as released and fixed.\n",
        *_reported(found, REAL, str(TRL)),
        "\n## Debatable\n",
        *(list(_reported(found, DEBATABLE)) or ["None."]),
        "\n## False alarms\n",
        *(list(_reported(found, FALSE)) or ["None is known."]),
        "\n## Real bugs elsewhere\n",
        *(list(_reported([each for each in found if each.place.package != str(TRL)], REAL)) or ["None."]),
        "",
    ]
    return "\n".join(parts)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _missed(verdicts: Sequence[Verdict]) -> list[str]:
    return [
        f"- {each.place} ({each.rule}, {GROUPS[each.group]}): {each.note}"
        for each in verdicts
        if each.group in ("site", "partial") and not each.found
    ]


def _reported(found: Sequence[Found], verdict: str, package: str | None = None) -> Iterator[str]:
    """Judged findings, one line for those with the same reason."""
    groups: dict[tuple[str, str, str, str, tuple[str, ...]], list[Found]] = {}
    for each in found:
        if each.verdict == verdict and package in (None, each.place.package):
            key = (each.place.package, each.place.rule, each.place.file, each.why, each.proof)
            groups.setdefault(key, []).append(each)
    for (name, rule, file, why, proof), group in sorted(groups.items()):
        lines = ", ".join(str(line) for line in sorted({each.place.line for each in group}))
        said = "; ".join([rule, _listed_fixes(group), *([f"run: {_cases(proof, name)}"] if proof else [])])
        yield f"- {'' if package else f'{name}, '}`{file}` {lines} ({said}): {why}."


def _cases(proof: Sequence[str], package: str) -> str:
    """Links to the sections of `verified.md`."""
    titles = {case: f"{case}, {package.partition(' ')[2]}" for case in proof}
    anchors = {case: re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for case, title in titles.items()}
    return ", ".join(f"[{case}](verified.md#{anchor})" for case, anchor in anchors.items())


def _listed_fixes(group: Sequence[Found]) -> str:
    counts = Counter(each.offered.value if each.offered else "hint" for each in group)
    said = [level if len(counts) == 1 else f"{count} {level}" for level, count in counts.items()]
    return f"fix: {', '.join(said)}"


def _markdown(rows: Sequence[Sequence[object]]) -> str:
    first, *rest = rows
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (first, ["---"] * len(first), *rest))


# --- the command ----------------------------------------------------------------------------------------


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="PACKAGE", help="only the releases of this package; writes no page")
    parser.add_argument("--list", action="store_true", help="print findings that are not judged, and stale judgements")
    parser.add_argument("--json", action="store_true", help="print every finding as JSON")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="DIR", help="where the page is written")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    chosen = [corpus for corpus in JUDGED if options.only in (None, corpus.release.package)]
    judgements = Judgements.load()
    found = [each for corpus in chosen for each in findings_in(corpus, judgements)]
    stale = judgements.left(map(str, chosen))
    if options.list or options.json:
        print(json.dumps([_described(each) for each in found], indent=1) if options.json else _unjudged(found, stale))
        return FAILED if stale or any(each.verdict == UNJUDGED for each in found) else PASSED
    verdicts = judge_all(ALL_RULES)
    print(table(rules_table(verdicts, found)))
    wrong = failures(verdicts, found, stale)
    print("\n".join(wrong) if wrong else "as it must be")
    if not options.only:
        (options.output / "accuracy.md").write_text(page(verdicts, found), encoding="utf-8")
    return FAILED if wrong else PASSED


def _described(found: Found) -> dict[str, object]:
    place = vars(found.place)
    fix = found.offered.value if found.offered else None
    return {**place, "verdict": found.verdict, "why": found.why, "fix": fix, "message": found.finding.message}


def _unjudged(found: Sequence[Found], stale: Sequence[Place]) -> str:
    new = [f"{each.place}: {each.finding.message}" for each in found if each.verdict == UNJUDGED]
    return "\n".join([*new, *(f"judged, but not reported: {place}" for place in stale)]) or "all are judged"


if __name__ == "__main__":
    run(main)

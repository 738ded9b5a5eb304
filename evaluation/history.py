"""History benchmark: are the real bugs of TRL's releases found, and is right code left alone?

    python -m evaluation.history [--rules TRL001,TRL003] [--cases other_cases.json] [--json] [--verbose]

`--cases other_cases.json` takes bugs in other code bases instead. The cases (`evaluation/cases`) name a release, a file
and a line. A whole release is the project that is linted. Exit code 1 when a site does worse than its case expects (it
is missed, or no longer in the default set), a look-alike or a fixed function gets a finding, or a fix is not the
author's own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path

from evaluation.common import ALL_RULES, FAILED, PASSED, covers, new_linter, run, symbols, table
from evaluation.releases import Release, fetch
from evaluation.variations import turn_back
from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

CASES = Path(__file__).parent / "cases"
PACKAGE = "trl"
OWN_CASES = "trl_cases.json"
# The groups in the order in which they are printed; those in `SCORED` affect the exit code.
GROUPS = {
    "site": "scored sites",
    "partial": "sites that are only partly visible to a linter",
    "look-alike": "look-alikes (right code)",
    "mended": "mended functions",
    "mended-kept": "mended functions that keep the same line (not scored)",
    "fix": "fixes compared with the author's own",
    "left-out": "cases without a release to lint",
}
# In addition to the sites, which have to do as well as their cases expect.
SCORED = ("look-alike", "mended", "fix")


class Outcome(IntEnum):
    """What is reported at a site, the worst first; `expected` in a case's site, if it is not the best."""

    MISSED = 0
    ASKED_FOR = 1
    BY_DEFAULT = 2


@dataclass(frozen=True)
class Verdict:
    """The result at one place: whether the linter reports it, and whether that is right."""

    group: str
    rule: str
    place: str
    found: bool
    right: bool
    note: str = ""
    # Whether it is reported by default, to users who select nothing.
    by_default: bool = True
    # For a site: the least that its case expects.
    expected: Outcome = Outcome.MISSED

    @property
    def outcome(self) -> Outcome:
        if not self.found:
            return Outcome.MISSED
        return Outcome.BY_DEFAULT if self.by_default else Outcome.ASKED_FOR

    @property
    def passes(self) -> bool:
        return self.outcome >= self.expected and (self.right or self.group not in SCORED)


@dataclass
class Project:
    """A release that is linted file by file; the results are kept."""

    root: Path
    linter: Linter
    results: dict[Path, list[Finding]] = field(default_factory=dict)

    def findings(self, file: str, rule: str) -> list[Finding]:
        """The findings of one rule in one file of the release."""
        path = self.root / file
        return [each for each in self._check(path) if is_about(each, rule)]

    def text(self, file: str) -> bytes:
        return (self.root / file).read_bytes()

    def has(self, file: str) -> bool:
        return (self.root / file).is_file()

    def _check(self, path: Path) -> list[Finding]:
        if path not in self.results:
            self.results[path] = self.linter.check(path, path.read_bytes())
        return self.results[path]


@cache
def project(version: str, package: str = PACKAGE) -> Project:
    """The release of this version, ready to be linted."""
    root = fetch(Release(package, version))
    return Project(root, new_linter(root))


def load(name: str) -> list[dict]:
    return json.loads((CASES / name).read_text(encoding="utf-8"))


def found_at(findings: Iterable[Finding], line: int) -> bool:
    """Whether one of the findings starts on the line or covers it."""
    return any(covers(finding, line) for finding in findings)


def is_about(finding: Finding, rule: str) -> bool:
    """Whether a finding is of a rule, or includes one of it."""
    return rule in (finding.code, *(each.code for each in finding.also))


def alarms_at(findings: Iterable[Finding], line: int) -> bool:
    """Whether one of the findings is reported on the line."""
    return any(line in finding.lines for finding in findings)


def alarms_in(findings: Iterable[Finding], spans: Sequence[tuple[int, int]]) -> list[Finding]:
    """The findings that start in one of the line ranges."""
    return [f for f in findings if any(start <= f.start.line <= end for start, end in spans)]


def group_of(case: dict) -> str | None:
    """The group in which the sites of a case are counted; None if no linter could see them."""
    return {"yes": "site", "partial": "partial"}.get(case["static"])


def judge_case(case: dict, rebuilds: dict[str, dict], causes: dict[str, str]) -> Iterator[Verdict]:
    """The verdicts on one case: its sites, and the functions that were fixed."""
    group = group_of(case)
    if group is None:
        return
    if case["buggy_release"]:
        yield from _judge_sites(case, group, causes)
    elif case["id"] in rebuilds:
        yield from _judge_rebuild(case, group, rebuilds[case["id"]], causes)
    else:
        yield Verdict("left-out", case["rule"], case["id"], False, True, "never released")
    if group == "site" and case["fixed_release"]:
        yield from _judge_mended(case, causes)


def _judge_sites(case: dict, group: str, causes: dict[str, str]) -> Iterator[Verdict]:
    release = project(case["buggy_release"], case.get("package", PACKAGE))
    for site in case["sites"]:
        found = release.findings(site["file"], case["rule"])
        yield _site_verdict(case, group, site, _place_of(site, found), found, causes)


def _place_of(site: dict, findings: Sequence[Finding]) -> int:
    """The line of a site; the one where its value is used, if the finding stands there."""
    used = site.get("told_at")
    return used if used and not found_at(findings, site["line"]) and found_at(findings, used) else site["line"]


def expected_of(site: dict) -> Outcome:
    """The expected outcome of a site: found by default, unless its case expects less."""
    return Outcome[site.get("expected", "by default").upper().replace(" ", "_")]


def _site_verdict(
    case: dict, group: str, site: dict, line: int, findings: Sequence[Finding], causes: dict[str, str]
) -> Verdict:
    found = found_at(findings, line)
    note = "" if found else causes.get(f"{case['id']}:{line}", "no cause noted")
    is_seen = _is_preview(case["rule"]) or found_at((each for each in findings if each.by_default), line)
    if found and not is_seen:
        note = "not in the default set"
    place = f"{case['id']} {case['buggy_release'] or case['fixed_release']} {site['file']}:{line}"
    return Verdict(group, case["rule"], place, found, found, note, found and is_seen, expected_of(site))


def _is_preview(code: str) -> bool:
    rule = find_rule(code)
    return rule is not None and rule.preview


def _judge_rebuild(case: dict, group: str, rebuild: dict, causes: dict[str, str]) -> Iterator[Verdict]:
    release = project(rebuild["release"])
    path = release.root / rebuild["file"]
    mended = release.text(rebuild["file"])
    broken, line = turn_back(mended, rebuild["right"], rebuild["broken"])
    linter = new_linter(release.root)
    findings = [each for each in linter.check(path, broken) if is_about(each, case["rule"])]
    yield _site_verdict(case, group, case["sites"][0], line, findings, causes)
    if rebuild.get("by_hand"):
        return  # there is only a hint
    fixed = new_linter(release.root, [case["rule"]]).fix(path, broken).source == mended
    place = f"{case['id']} {rebuild['release']} {rebuild['file']}:{line}"
    note = "" if fixed else "--fix does not restore the release byte for byte"
    yield Verdict("fix", case["rule"], place, fixed, fixed, note)


def _judge_mended(case: dict, causes: dict[str, str]) -> Iterator[Verdict]:
    version, rule = case["fixed_release"].split()[0], case["rule"]  # the rest is a remark
    release = project(version, case.get("package", PACKAGE))
    kept = (case.get("fixed_side") or {}).get("same_line_text_still_present_for_sites")
    group = "mended-kept" if kept else "mended"
    for file, symbol in sorted({(site["file"], site["symbol"]) for site in case["sites"]}):
        place = f"{case['id']} {version} {file} {symbol}"
        spans = symbols(release.text(file)).get(symbol) if release.has(file) else None
        if spans is None:
            yield Verdict("left-out", rule, place, False, True, "the mended release has no such function")
            continue
        alarms = alarms_in(release.findings(file, rule), spans)
        if alarms and is_another_bug(case, version, file, symbol):
            yield Verdict("left-out", rule, place, True, True, "the mended release has another bug of the list there")
            continue
        lines = ", ".join(str(alarm.start.line) for alarm in alarms)
        note = f"lines {lines}: {causes.get(f'{version}:{file}:{lines}', 'no cause noted')}" if alarms else ""
        yield Verdict(group, rule, place, bool(alarms), not alarms, note)


def is_another_bug(case: dict, version: str, file: str, symbol: str) -> bool:
    """Whether the function has, in that release, a bug that another case of the same rule is about."""
    return any(
        other["rule"] == case["rule"] and other["id"] != case["id"] and _had(other, version, file, symbol)
        for other in load(OWN_CASES)
    )


def _had(case: dict, version: str, file: str, symbol: str) -> bool:
    first, _, last = (case["buggy_release_range"] or "").partition("-")
    if not last or not _release(first) <= _release(version) <= _release(last):
        return False
    # The method may have moved here from another method of the class since.
    owner = symbol.partition(".")[0]
    return any((site["file"], site["symbol"].partition(".")[0]) == (file, owner) for site in case["sites"])


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def judge_look_alike(case: dict, causes: dict[str, str]) -> Verdict:
    """The verdict on one piece of right code."""
    findings = project(case["release"]).findings(case["file"], case["rule"])
    alarm = alarms_at(findings, case["line"])
    place = f"{case['release']} {case['file']}:{case['line']}"
    note = causes.get(place.replace(" ", ":"), f"right because: {case['why_ok']}") if alarm else ""
    return Verdict("look-alike", case["rule"], place, alarm, not alarm, note)


def judge_all(rules: Sequence[str], cases: str = OWN_CASES) -> list[Verdict]:
    """Every verdict on the cases of these rules, and on the look-alikes in TRL."""
    causes = json.loads((CASES / "causes.json").read_text(encoding="utf-8"))
    rebuilds = {row["id"]: row for row in load("rebuilds.json")}
    verdicts: list[Verdict] = []
    for case in load(cases):
        if case["rule"] in rules:
            verdicts.extend(judge_case(case, rebuilds, causes))
    if cases == OWN_CASES:
        negatives = load("trl_negatives.json")
        verdicts += [judge_look_alike(case, causes) for case in negatives if case["rule"] in rules]
    return verdicts


def summary(verdicts: Sequence[Verdict], rules: Sequence[str]) -> str:
    """One line per rule: recall, and alarms on right code."""
    rows = [("rule", "recall", "by default", "partial", "alarms on look-alikes", "alarms on mended", "fixes")]
    for rule in rules:
        counts = {
            group: (
                sum(v.found for v in verdicts if (v.group, v.rule) == (group, rule)),
                sum((v.group, v.rule) == (group, rule) for v in verdicts),
            )
            for group in GROUPS
        }
        shown = ("site", "partial", "look-alike", "mended", "fix")
        recall, *others = (f"{counts[group][0]}/{counts[group][1]}" for group in shown)
        seen = sum(each.found and each.by_default for each in verdicts if (each.group, each.rule) == ("site", rule))
        rows.append((rule, recall, f"{seen}/{counts['site'][1]}", *others))
    return table(rows)


def details(verdicts: Sequence[Verdict], verbose: bool) -> Iterator[str]:
    """The places with a wrong result (all places if verbose), by group."""
    for group, title in GROUPS.items():
        chosen = [
            each
            for each in verdicts
            if each.group == group and (verbose or not each.right or group == "left-out" or _is_unseen(each))
        ]
        if chosen:
            yield f"\n{title}:"
        for verdict in chosen:
            said = "found" if verdict.found else "silent"
            mark = " " if verdict.right else "!"
            note = f"  ({verdict.note})" if verdict.note else ""
            yield f" {mark} {verdict.rule} {said:6} {verdict.place}{note}"


def compared(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The sites that do worse, or better, than their cases expect."""
    titles = {
        "worse than expected": [each for each in verdicts if each.outcome < each.expected],
        "better than expected, so that the case may expect more": [
            each for each in verdicts if each.group in ("site", "partial") and each.outcome > each.expected
        ],
    }
    for title, chosen in titles.items():
        if chosen:
            yield f"\n{title}:"
        for each in chosen:
            yield f"   {each.rule} {each.place}: {_name(each.outcome)}, expected {_name(each.expected)}"


def _name(outcome: Outcome) -> str:
    return outcome.name.lower().replace("_", " ")


def _is_unseen(verdict: Verdict) -> bool:
    return verdict.found and not verdict.by_default


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rules", default=",".join(ALL_RULES), help="codes, with commas between them")
    parser.add_argument("--cases", default=OWN_CASES, metavar="FILE", help="a table of evaluation/cases (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--verbose", action="store_true", help="print every place, not only the wrong ones")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    rules = options.rules.split(",")
    verdicts = judge_all(rules, options.cases)
    if options.json:
        json.dump([vars(verdict) for verdict in verdicts], sys.stdout, indent=1)
        print()
    else:
        print(summary(verdicts, rules))
        print("\n".join([*details(verdicts, options.verbose), *compared(verdicts)]))
    return PASSED if all(verdict.passes for verdict in verdicts) else FAILED


if __name__ == "__main__":
    run(main)

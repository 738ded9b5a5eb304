"""The results of `--fix` for the mutants: fixed or not, why not, and is it the original again?

A mutant has a *safe* fix when each of its due findings has one, an *unsafe* one when each has a fix and one of them is
unsafe, otherwise only a *hint*; it is *withheld* when the linter's gate refuses a fix. The original is compared after
its own findings, if it has any, were fixed in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.canonical import Helper, same
from evaluation.common import table
from evaluation.lines import carried
from evaluation.neutral import HELPER
from trl_lint.findings import Applicability, Finding
from trl_lint.linter.linter import Linter
from trl_lint.linter.rewriting.hunks import hunks

LEVELS = ("safe", "unsafe", "hint", "withheld")
# For these operators a fixed mutant should be the original again, at least this often.
RESTORED = ("drop the collective", "item inside the gather")
MIN_RESTORED = 0.70
NO_FIX = "the rule has no automatic fix"

Place = tuple[Path, int, int]


@dataclass
class Mended:
    """The result of `--fix` for one mutant: `left` are the lines of due findings that are still there."""

    level: str
    # Why a due finding has no safe fix, one per finding.
    reasons: list[str] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    identical: bool = False
    # Equal in canonical form, or byte for byte.
    equal: bool = False
    # Old and new lines of the mutant.
    change: list[str] = field(default_factory=list)


@dataclass
class Original:
    """The right file as `--fix` leaves it, with and without unsafe fixes."""

    linter: Linter
    path: Path
    text: str
    findings: Sequence[Finding]
    _fixed: dict[bool, str] = field(default_factory=dict)

    def fixed(self, unsafe: bool) -> str:
        if unsafe not in self._fixed:
            self._fixed[unsafe] = self.text
            if any(finding.fix is not None for finding in self.findings):
                content = self.linter.fix(self.path, self.text.encode(), unsafe=unsafe).source
                self._fixed[unsafe] = content.decode()
        return self._fixed[unsafe]


def level_of(findings: Sequence[Finding]) -> str:
    """The applicability of the findings' fixes taken together."""
    found = {finding.fix.applicability if finding.fix else Applicability.DISPLAY for finding in findings}
    if Applicability.DISPLAY in found:
        return "hint"
    return "unsafe" if Applicability.UNSAFE in found else "safe"


def reasons_of(findings: Sequence[Finding]) -> list[str]:
    """Why each of the findings has no safe fix."""
    fixes = [finding.fix for finding in findings]
    unsafe = [fix for fix in fixes if fix is None or fix.applicability is not Applicability.SAFE]
    return [NO_FIX if fix is None else f"{_word(fix.applicability)}: {fix.reason}" for fix in unsafe]


def _word(applicability: Applicability) -> str:
    return "hint" if applicability is Applicability.DISPLAY else applicability.value


def mend(
    linter: Linter,
    texts: Mapping[Path, str],
    due: Sequence[Place],
    found: Sequence[tuple[Path, Finding]],
    original: Original,
) -> Mended:
    """Fix one mutant, whose due findings are `found` (at least one), in a linter that sees its texts."""
    findings = [finding for _, finding in found]
    level, reasons = level_of(findings), reasons_of(findings)
    if level == "hint":
        return Mended(level, reasons)
    unsafe = level == "unsafe"
    fixed, refused, remaining = fix_all(linter, texts, unsafe=unsafe)
    refusals = [f"withheld: {reason}" for finding, reason in refused if finding in findings]
    changes = {path: hunks(texts[path].splitlines(), fixed[path].splitlines()) for path in texts}
    places = [(path, *carried(changes[path], first, last)) for path, first, last in due]
    left = [
        finding.start.line
        for path, finding in remaining
        if finding.code == findings[0].code and any(_within(places, path, line) for line in finding.lines)
    ]
    mended, wanted = fixed[original.path], original.fixed(unsafe)
    helper = next((Helper(HELPER, text) for text in fixed.values() if f"def {HELPER}(" in text), None)
    return Mended(
        "withheld" if refusals else level,
        [*reasons, *refusals],
        left,
        identical=mended == wanted,
        equal=mended == wanted or same(wanted, mended, helper),
        change=[line for path in texts for line in change_of(texts[path], fixed[path])],
    )


def _within(places: Sequence[Place], path: Path, line: int) -> bool:
    return any(other == path and first <= line <= last for other, first, last in places)


def fix_all(
    linter: Linter, texts: Mapping[Path, str], *, unsafe: bool
) -> tuple[dict[Path, str], list[tuple[Finding, str]], list[tuple[Path, Finding]]]:
    """The texts as `--fix` leaves them, the withheld fixes, and the findings that remain."""
    fixed: dict[Path, str] = {}
    refused: list[tuple[Finding, str]] = []
    remaining: list[tuple[Path, Finding]] = []
    for path, text in texts.items():
        result = linter.fix(path, text.encode(), unsafe=unsafe)
        fixed[path] = result.source.decode()
        refused += result.withheld
        remaining += [(path, finding) for finding in result.remaining]
    if len(texts) > 1:
        # Each was judged next to the old texts of the others.
        remaining = _found(linter, fixed)
    return fixed, refused, remaining


def _found(linter: Linter, texts: Mapping[Path, str]) -> list[tuple[Path, Finding]]:
    fresh = Linter(linter.settings, linter.roots, linter.rules)
    fresh.trees = linter.trees
    contents = {path: text.encode() for path, text in texts.items()}
    fresh.overlay.update(contents)
    fresh.prepare(contents.items())
    return [(path, finding) for path, content in contents.items() for finding in fresh.check(path, content)]


def change_of(before: str, after: str) -> list[str]:
    """The lines that differ, marked as in a diff."""
    old, new = before.splitlines(), after.splitlines()
    changed = []
    for hunk in hunks(old, new):
        changed += [f"- {line.strip()}" for line in old[hunk.first : hunk.last]]
        changed += [f"+ {line.strip()}" for line in new[hunk.start : hunk.end]]
    return changed


# --- the report -----------------------------------------------------------------------------------------


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.0%})" if whole else "0/0"


def restored(results: Sequence, operators: Sequence[str] = RESTORED) -> tuple[int, int]:
    """How many safe fixes restore the original, and how many safe fixes these operators have."""
    safe = [result.mended for result in results if result.operator in operators and _level(result) == "safe"]
    return sum(mended.equal for mended in safe), len(safe)


def _level(result) -> str:
    return result.mended.level if result.mended else ""


def left_after(results: Sequence) -> list:
    """The results whose fixes, safe or unsafe, leave a due finding."""
    return [result for result in results if _level(result) in ("safe", "unsafe") and result.mended.left]


def passed(results: Sequence) -> bool:
    """Whether no safe fix leaves its finding, and enough of them restore the original."""
    equal, safe = restored(results)
    kept = any(_level(result) == "safe" for result in left_after(results))
    return not kept and (not safe or equal / safe >= MIN_RESTORED)


def report(results: Sequence, operators: Sequence[str], steps: Sequence[str], verbose: bool) -> Iterator[str]:
    """The fixes of all found mutants: how many by level, what is left, which restore the original, and why not."""
    yield f"\nfixes of the mutants found ({' / '.join(LEVELS)}):"
    yield _levels(results, operators, steps)
    yield "\nfixed mutants: is the finding gone, and is the code the original again (to the byte; in canonical form)?"
    yield _restored_table(results, operators)
    equal, safe = restored(results)
    everything = sum(result.operator in RESTORED for result in results)
    yield f"\n{' and '.join(RESTORED)}: the original again in {share(equal, safe)} of the safe fixes,"
    yield f"  {share(equal, everything)} of all mutants"
    yield from _reasons(results, operators)
    left = left_after(results)
    yield f"\nfixed mutants that still have their finding: {len(left)}"
    yield from (f"  {_where(result)}: {result.mended.level}, lines {result.mended.left}" for result in left)
    if verbose:
        yield from _unequal(results)


def _levels(results: Sequence, operators: Sequence[str], steps: Sequence[str]) -> str:
    rows: list[tuple[object, ...]] = [("operator", *steps, "all")]
    for operator in operators:
        own = [result for result in results if result.operator == operator]
        cells = [_counts([result for result in own if result.step == step]) for step in steps]
        rows.append((operator, *cells, _counts(own)))
    return table(rows)


def _counts(results: Sequence) -> str:
    counts = Counter(_level(result) for result in results)
    return "/".join(str(counts[level]) for level in LEVELS)


def _restored_table(results: Sequence, operators: Sequence[str]) -> str:
    rows: list[tuple[object, ...]] = [
        ("operator", "fix", "applied", "left", "byte-equal", "canonical", "of all mutants")
    ]
    for operator in operators:
        own = [result for result in results if result.operator == operator]
        for level in ("safe", "unsafe"):
            mended = [result.mended for result in own if _level(result) == level]
            equal = sum(each.equal for each in mended)
            counts = (sum(bool(each.left) for each in mended), sum(each.identical for each in mended))
            rows.append((operator, level, len(mended), *counts, share(equal, len(mended)), share(equal, len(own))))
    return table(rows)


def _reasons(results: Sequence, operators: Sequence[str]) -> Iterator[str]:
    yield "\ndue findings without a safe fix, by cause:"
    for operator in operators:
        own = [result.mended for result in results if result.operator == operator and result.mended]
        counts = Counter(reason for mended in own for reason in mended.reasons)
        yield from (f"  {operator}: {count} x {reason}" for reason, count in counts.most_common())


def _unequal(results: Sequence) -> Iterator[str]:
    different = [result for result in results if _level(result) in ("safe", "unsafe") and not result.mended.equal]
    yield f"\nfixed mutants that are not the original again: {len(different)}"
    for result in different:
        yield f"  {_where(result)} ({result.mended.level}); it was: {' '.join(result.right.split())}"
        yield from (f"      {line}" for line in result.mended.change)


def _where(result) -> str:
    return f"{result.operator} ({result.step}) {result.corpus} {result.file}:{result.line}"

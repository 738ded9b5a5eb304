"""Rewriting: carry out the plans for findings, and keep the result only if it is proven to help.

The gate analyses the new text with all rules. A fix is withheld, and reported as such, if its finding remains, if the
function it edits gets another finding, or if the text does not parse.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path

from trl_lint.config import load_settings
from trl_lint.findings import Applicability, Finding
from trl_lint.fixes import fix_of
from trl_lint.launch.parsers.readers import NOTEBOOK, front_end
from trl_lint.linter.causes import one_per_cause
from trl_lint.linter.comments import suppressions
from trl_lint.linter.deep_stack import deeply
from trl_lint.linter.linter import Linter
from trl_lint.linter.locate import LocatedViolation
from trl_lint.linter.results import CommentContext, FixResult, SourceError
from trl_lint.linter.rewriting.accounting import Account, Counted, account, still_withheld
from trl_lint.linter.rewriting.planning import fixes_to_apply
from trl_lint.linter.rewriting.regenerating import written
from trl_lint.linter.rewriting.text_edits import transformed
from trl_lint.rules import all_rules
from trl_lint.rules.base import BaseRule, Rule

# How often one rule's fixes are applied to a file: a fix inside another one has to wait for the next iteration.
_ROUNDS = 10
# How often all rules are processed: what one rule uncovers may be fixable by another.
_PASSES = 5


@dataclass(slots=True)
class _FileText:
    """A content of the file and its findings: those of the selected rules, and those of all rules, once known."""

    source: bytes
    linter: Linter
    found: Sequence[LocatedViolation]
    by_all: Sequence[LocatedViolation] | None = None

    def by_all_rules(self, path: Path) -> Sequence[LocatedViolation]:
        if self.by_all is None:
            reported_rules = self.linter.rules
            if self.linter.selection is not None:
                reported_rules = ()  # selected rules may have findings that are not wanted
            rules = all_rules(self.linter.settings.plugins)
            others = [rule for rule in rules if rule not in reported_rules and isinstance(rule, Rule)]
            by_others = self.linter.report_by(others, path, self.source)
            self.by_all = [*self.found, *by_others] if reported_rules else by_others
        return self.by_all


@deeply
def fix(linter: Linter, path: Path, source: bytes, *, unsafe: bool) -> FixResult:
    """Apply the fixes of one file that pass the gate, rule by rule, until there are no more.

    Raises:
        SourceError: the file can't be decoded or parsed.
    """
    from trl_lint.fixes.support.edits import independent

    withheld: list[tuple[Finding, str]] = []
    first = now = _FileText(source, linter, linter.report(path, source))
    for _ in range(_PASSES):
        begun, withheld = now, []
        for rule in linter.rules:
            for _ in range(_ROUNDS if rule.has_fix else 0):
                wanted = _wanted(now.found, rule, now.source, unsafe)
                chosen = list(compress(wanted, independent(each.fix.plan for each in wanted if each.fix.plan)))
                if not chosen:
                    break
                now, fixed, left = _apply(linter, path, now, chosen)
                withheld.extend(left)
                if not fixed or len(chosen) == len(wanted):
                    break  # otherwise retry a fix that was inside another one
        if now.source == begun.source:
            break  # otherwise a fix may have uncovered something that an earlier rule can fix
    before, after = _counted(first.found, source), _counted(now.found, now.source)
    return _accounted(now.source, withheld, before, after, source)


def with_safe_fixes(path: Path, source: bytes, code: str) -> bytes:
    """A file's content after the safe fixes of one rule: the entry point for codemods.

    The settings are those of the file's folder, as in `trl-lint --fix --select CODE`.

    Raises:
        ConfigError: the settings are invalid.
        SourceError: the text can't be parsed.
    """
    path = Path(os.path.abspath(path))
    settings = load_settings(path.parent)
    rules = [rule for rule in all_rules(settings.plugins) if rule.code == code]
    roots = dict.fromkeys((settings.root or path.parent, path.parent))
    return Linter(settings, tuple(roots), rules).fix(path, source).source


def fix_launches(linter: Linter, path: Path, source: bytes, first: FixResult, *, unsafe: bool) -> FixResult:
    """Apply the fixes of the launch commands in one file. first: the result of the fixes of its code.

    Raises:
        SourceError: the file can't be decoded or parsed.
    """
    from trl_lint.launch import checker

    current_linter = linter if first.source == source else fresh_linter(linter, path)
    found = current_linter.check_launches(path, first.source).launches
    fixable = set(_fixable([each.finding for each in found], path, first.source, unsafe))
    wanted = [each for each in found if each.edits and each.finding in fixable]
    if not wanted:
        return first._replace(remaining=tuple(current_linter.check(path, first.source)))
    current, withheld = checker.apply_fixes(path, first.source, current_linter.launches, wanted)
    last = fresh_linter(linter, path)
    before, after = (
        [Counted(each.finding, frozenset({(each.finding.message,)})) for each in checked.launches]
        for checked in (linter.check_launches(path, source), last.check_launches(path, current))
    )
    counts = _account_of(path)(before, after, source, current)
    done = _result_of_account(current, [(each.finding, reason) for each, reason in withheld], after, counts)
    remaining = last.check(path, current)
    return done._replace(
        applied=tuple(sorted((*first.applied, *done.applied), key=lambda each: each.sort_key)),
        withheld=still_withheld((*first.withheld, *done.withheld), remaining),
        remaining=tuple(remaining),
        partly=first.partly,
        uncovered=first.uncovered + done.uncovered,
    )


def _accounted(
    current: bytes,
    withheld: Sequence[tuple[Finding, str]],
    before: Sequence[Counted],
    after: Sequence[Counted],
    source: bytes,
) -> FixResult:
    """What happened to the findings of `source`, now that it is `current`."""
    return _result_of_account(current, withheld, after, account(before, after, source, current))


def _account_of(path: Path) -> Callable[[Sequence[Counted], Sequence[Counted], bytes, bytes], Account]:
    """How the launches of a file are compared before and after."""
    if front_end(path) != NOTEBOOK:
        return account
    from trl_lint.linter.cells.launches import accounted

    return partial(accounted, path)


def _result_of_account(
    current: bytes, withheld: Sequence[tuple[Finding, str]], after: Sequence[Counted], counts: Account
) -> FixResult:
    remaining = [each.finding for each in after]
    left = still_withheld(withheld, remaining)
    return FixResult(current, counts.fixed, left, tuple(remaining), counts.partly, counts.uncovered)


def _counted(found: Sequence[LocatedViolation], source: bytes) -> list[Counted]:
    return [Counted(each.finding, frozenset(_places(each))) for each in one_per_cause(found, source)]


def _fixable(found: Sequence[Finding], path: Path, source: bytes, unsafe: bool) -> list[Finding]:
    """The findings whose fix is applicable at this level, and that no comment silences."""
    levels = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    kept = suppressions.split(found, source, path)[0]
    return [each for each in kept if each.fix is not None and each.fix.applicability in levels]


def _apply(
    linter: Linter, path: Path, now: _FileText, wanted: Sequence[LocatedViolation]
) -> tuple[_FileText, list[Finding], list[tuple[Finding, str]]]:
    """The content with as many of these fixes as pass the gate: all together, otherwise one by one."""
    before = now.by_all_rules(path)
    new, reason = _try_fixes(linter, path, now, wanted, before)
    if not reason:
        return new, [each.finding for each in wanted], []
    if len(wanted) == 1:
        return now, [], [(wanted[0].finding, reason)]
    passing: list[LocatedViolation] = []
    withheld: list[tuple[Finding, str]] = []
    current = now
    for each in wanted:
        new, reason = _try_fixes(linter, path, now, [*passing, each], before)
        if reason:
            withheld.append((each.finding, reason))
        else:
            passing.append(each)
            current = new
    return current, [each.finding for each in passing], withheld


def _wanted(found: Sequence[LocatedViolation], rule: BaseRule, source: bytes, unsafe: bool) -> list[LocatedViolation]:
    """The findings to fix: those with a plan that is applicable at this level, and that no comment silences."""
    levels = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    fixable = [
        each for each in found if each.rule is rule and each.fix.plan is not None and each.fix.applicability in levels
    ]
    silenced = set(suppressions.split([each.finding for each in fixable], source)[1])
    return [each for each in fixable if each.finding not in silenced]


def fresh_linter(linter: Linter, path: Path, rules: Sequence[BaseRule] | None = None) -> Linter:
    """A linter that knows nothing of the old text, but the same as the first one about other files."""
    selected = linter.rules, linter.selection
    rules_to_run, selection = selected if rules is None else (rules, None)
    other = Linter(linter.settings, linter.roots, rules_to_run, selection=selection)
    other.overlay = {key: value for key, value in linter.overlay.items() if key != path}
    other.trees, other.linted, other.found_from = linter.trees, linter.linted, linter.found_from
    other.sees_all = True  # what other files find in this one is known by now
    other.documents = linter.documents
    other.engines = linter.engines
    other.comments = CommentContext(linter.comments.judged_below, linter.comments.silent)
    return other


def _try_fixes(
    linter: Linter, path: Path, now: _FileText, chosen: Sequence[LocatedViolation], before: Sequence[LocatedViolation]
) -> tuple[_FileText, str]:
    """The new content with these fixes, and why it does not pass the gate ("" if it does)."""
    from trl_lint.analysis.program.project.project import decode, encode, round_trips

    _, encoding = decode(now.source)
    if not round_trips(written(chosen[0].violation.module).code, encoding, now.source):
        return now, "the parser does not give this file back byte for byte"
    text, reason = linter.documents.round_trip(path, transformed([each.fix for each in chosen]))
    if reason:
        return now, reason
    new = encode(text, encoding)
    other = fresh_linter(linter, path, all_rules(linter.settings.plugins))
    try:
        after = other.report(path, new)
    except SourceError:
        return now, "the result would not parse"
    selected = set(linter.rules)
    found = [each for each in after if each.rule in selected and linter.wants(each.rule, each.finding)]
    return _FileText(new, other, found, after), _gate_reason(before, after, chosen)


def _gate_reason(
    before: Sequence[LocatedViolation], after: Sequence[LocatedViolation], chosen: Sequence[LocatedViolation]
) -> str:
    """Why the new text fails: per function, it may only have the old findings without the fixed ones."""
    allowed = Counter(place for each in before for place in _places(each))
    allowed.subtract(place for each in chosen for place in _places(each, fixable_only=True))
    uncovered = {code for each in chosen for code in uncovered_by(each.rule)}
    now = Counter(place for each in after if each.rule.code not in uncovered for place in _places(each))
    fixed_codes = {each.rule.code for each in chosen}
    for code in sorted({place[0] for place, count in now.items() if count > allowed[place]}):
        return f"the result would still have {code}" if code in fixed_codes else f"the result would have a new {code}"
    return ""


def _places(located: LocatedViolation, *, fixable_only: bool = False) -> set[tuple[str, str, str]]:
    """The function that contains a finding, once per metric it names. fixable_only: only those that its fix is for."""
    parts = fixes_to_apply(located.parts) if fixable_only else located.parts
    violations = (part.violation for part in parts)
    return {(located.rule.code, repr(each.function), each.metric) for each in violations}


def uncovered_by(rule: BaseRule) -> frozenset[str]:
    """The codes of findings on the same value that existed before a rule's fixes but are visible only after them."""
    fix = fix_of(rule.fix_module)
    return frozenset() if fix is None else fix.uncovers

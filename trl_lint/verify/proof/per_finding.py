"""What the runs of a program show for each finding: whether it was reached, and whether it makes the program fail."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from trl_lint.findings import Consequence, Finding
from trl_lint.rules import find_rule
from trl_lint.verify.oracles import divergence, failures, metrics, single_writer, termination, true_value
from trl_lint.verify.oracles.logged_metrics import metrics_of
from trl_lint.verify.proof import cause, not_reached
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record.executed import Executed, Ran
from trl_lint.verify.record.traces import RankRecord, Run
from trl_lint.verify.record.verdicts import Outcome, Verdict

# Oracles that judge metrics.
OF_METRICS = (metrics.ORACLE, true_value.ORACLE)
# By the consequence of a finding, what a run that passes says about it.
_PASSED = {
    Consequence.CRASH: "the run ended well all the same",
    Consequence.DEADLOCK: "the run ended well all the same",
    Consequence.WRONG_TRAINING: "no difference was seen in what was trained",
    Consequence.RACE: "no difference was seen in the files",
    Consequence.WASTE: "no oracle judges wasted work",
}
Times = Mapping[int, int]


class FindingOutcome(str, Enum):
    """The verdict on a finding.

    Attributes:
        SHOWN: The program fails because of it, and does not once it is fixed.
        CONSISTENT: It was executed, without a decision.
        NOT_REACHED: No rank has executed it.
        CONTRADICTED: It was executed without the harm that it must do, or fixing it does not help.
    """

    SHOWN = "shown"
    CONSISTENT = "consistent"
    NOT_REACHED = "not reached"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class FindingVerdict:
    """The verdict on one finding. is_fixed: it is fixed in the fixed copy.

    before, fixed: by rank, how often it was executed unchanged, and how often its replacement was; None if unknown, or
    if there was no run.
    """

    finding: Finding
    outcome: FindingOutcome
    reason: str
    before: Times | None
    fixed: Times | None
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class BothRuns:
    """The results of a program: unchanged, and fixed, if that was run, with its fixed texts. shown: see `Proof`."""

    before: Judged
    after: Judged | None
    sources: Mapping[str, str]
    shown: Verdict | None
    files: Sequence[Path]

    def repaired(self) -> list[Verdict]:
        """The verdicts that failed unchanged and passed when fixed."""
        return [each for each in self.before.verdicts if each.failed and self._after(each) is Outcome.PASSED]

    def _after(self, verdict: Verdict) -> Outcome | None:
        found = self.after.verdict(verdict.oracle) if self.after else None
        return found.outcome if found else None


def verdicts(runs: BothRuns, fixes: Sequence[Finding], hints: Sequence[Finding]) -> list[FindingVerdict]:
    """The verdicts of the runs on findings: on those that were fixed, and on the others."""
    return [_verdict(runs, each, fixes, is_fixed=each in fixes) for each in (*fixes, *hints)]


def _verdict(runs: BothRuns, finding: Finding, fixes: Sequence[Finding], *, is_fixed: bool) -> FindingVerdict:
    before = _times(runs.before.run, finding)
    fixed = _times_fixed(runs, finding) if runs.after else None

    def verdict(outcome: FindingOutcome, reason: str = "") -> FindingVerdict:
        return FindingVerdict(finding, outcome, reason, before, fixed, is_fixed)

    if before is None:
        return verdict(FindingOutcome.CONSISTENT, "how often it was executed is not known")
    if not any(before.values()):
        if fixed and any(fixed.values()):
            return verdict(FindingOutcome.CONSISTENT, "it was executed in the fixed run alone, which got further")
        run = runs.after.run if runs.after and not runs.before.ended_well else runs.before.run
        return verdict(FindingOutcome.NOT_REACHED, not_reached.reason(finding, run, runs.files))
    contradiction = _contradiction(runs, finding, before, is_fixed=is_fixed)
    if contradiction:
        return verdict(FindingOutcome.CONTRADICTED, contradiction)
    if not is_fixed:
        return verdict(FindingOutcome.CONSISTENT, "there is no fix to try")
    if runs.after is None:
        return verdict(FindingOutcome.CONSISTENT, "its fix was not tried")
    if runs.before.passed:
        return verdict(FindingOutcome.CONSISTENT, _of_passed(runs.before, finding))
    concerned = [each for each in runs.repaired() if _concerns(runs.before.run, each, finding, fixes)]
    if not concerned:
        return verdict(
            FindingOutcome.CONSISTENT, "what failed is elsewhere" if runs.repaired() else "it fails fixed as well"
        )
    if runs.shown is None or runs.shown.outcome is not Outcome.PASSED:
        return verdict(FindingOutcome.CONSISTENT, runs.shown.summary.partition(", so ")[0] if runs.shown else "")
    return verdict(FindingOutcome.SHOWN)


def _of_passed(before: Judged, finding: Finding) -> str:
    """Why a run that passes does not decide."""
    if finding.consequence is not Consequence.WRONG_NUMBER:
        return _PASSED.get(finding.consequence, "nothing wrong was seen")
    found = [verdict for oracle in OF_METRICS if (verdict := before.verdict(oracle)) is not None]
    is_compared = any(verdict.outcome is Outcome.PASSED for verdict in found)
    return "the values that were compared are equal on these data" if is_compared else "no values could be compared"


# --- how often ------------------------------------------------------------------------------------------


def _times(run: Run, finding: Finding) -> Times | None:
    """By rank, how often a finding's statement was executed; None unless that is known of all ranks."""
    times: dict[int, int] = {}
    for rank in run.ranks:
        if not rank.executed.files:
            return None
        count = rank.executed.count(finding.path, finding.start.line, finding.start.column)
        if count is None and (finding.path in rank.executed.files or not rank.executed.is_sure):
            return None
        times[rank.number] = count or 0
    return times


def _times_fixed(runs: BothRuns, finding: Finding) -> Times | None:
    """By rank of the fixed run, how often the statements were executed that replace a finding."""
    assert runs.after is not None
    text = runs.sources.get(finding.path)
    if text is None:
        return _times(runs.after.run, finding)
    lines = fixed_lines(finding, text)
    times: dict[int, int] = {}
    for rank in runs.after.run.ranks:
        if not rank.executed.files:
            return None
        times[rank.number] = max((_count(rank.executed, finding.path, line) for line in lines), default=0)
    return times


def _count(executed: Executed, file: str, line: int) -> int:
    """How often the statements were executed that start in a line."""
    source = executed.files[file].statements if file in executed.files else None
    found = [each for each in source.all if each.line == line] if source else []
    statements = [
        each for each in found if not isinstance(each.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    return max((executed.counts.get(Ran(file, each.number), 0) for each in statements), default=0)


def fixed_lines(finding: Finding, text: str) -> list[int]:
    """The lines (from 1) of a fixed text that replace those of a finding, or the same lines if they are unchanged."""
    first, last = finding.start.line - 1, finding.end.line
    changed: list[int] = []
    same: list[int] = []
    for tag, before, end, after, after_end in _changes(finding.path, text):
        is_insert = before == end and first <= before <= last
        if is_insert or (before < last and first < end):
            if tag == "equal":
                same += range(after + max(first - before, 0), after + min(last, end) - before)
            else:
                changed += range(after, after_end)
    return [line + 1 for line in changed or same]


@cache
def _changes(file: str, text: str) -> Sequence[tuple[str, int, int, int, int]]:
    """The line changes from a file to its fixed text. Both stay unchanged while a program is judged."""
    before, after = (Path(path).read_text(encoding="utf-8", errors="replace").splitlines() for path in (file, text))
    return difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


# --- whether it is to blame -----------------------------------------------------------------------------


def _concerns(run: Run, failure: Verdict, finding: Finding, fixes: Sequence[Finding]) -> bool:
    """Whether a run may have failed because of a finding: it was reached before, and no other finding fits better."""
    if not cause.was_reached_before(run, failure, [finding]):
        return False
    if failure.oracle in OF_METRICS:
        suspects = [each for each in fixes if _is_of_metric(run, failure, each)]
        return finding in suspects or not suspects
    if failure.oracle == single_writer.ORACLE:
        suspects = [each for each in fixes if each.consequence is Consequence.RACE]
        return finding in suspects or not suspects
    suspects = [each for each in fixes if _is_at(run, failure, each)]
    return finding in suspects or not suspects


def _is_at(run: Run, failure: Verdict, finding: Finding) -> bool:
    """Whether a run failed in the lines of a finding, or at a condition that decides who reaches them."""
    return (
        cause.is_at(run, failure, [finding]) or _is_named(failure, finding) or _is_at_divergence(run, failure, finding)
    )


def _is_named(failure: Verdict, finding: Finding) -> bool:
    """Whether a verdict names one of the lines of a finding, in the form of evidence: `train.py:12 (main)`."""
    name, lines = os.path.basename(finding.path), range(finding.start.line, finding.end.line + 1)
    return any(at.startswith(f"{name}:{line} ") for at in failure.at for line in lines)


def _is_at_divergence(run: Run, failure: Verdict, finding: Finding) -> bool:
    """Whether ranks diverge, or one waits, in the lines of a finding, or at a condition that keeps ranks from them."""
    lines = {*range(finding.start.line, finding.end.line + 1), *finding.lines}
    if finding.guard is not None:
        lines.add(finding.guard.start.line)
    divergence_found = divergence.divergence_of(run)
    if divergence_found is not None and divergence_found.file == finding.path and divergence_found.line in lines:
        return True
    waits = [place for rank in run.ranks if rank.pending for place in rank.pending.at] if failure.kind == "hang" else []
    return any(os.path.realpath(each.file) == finding.path and each.line in lines for each in waits)


def _is_of_metric(run: Run, failure: Verdict, finding: Finding) -> bool:
    """Whether a metric that failed is logged in the lines of a finding, or named there."""
    failed = failure.data.get("metrics")
    names = set(failed) if isinstance(failed, Mapping) else set()
    lines = range(finding.start.line, finding.end.line + 1)
    places = {
        (os.path.realpath(place.file), place.line)
        for (_, name), metric in metrics_of(run).items()
        for place in metric.at
        if name in names
    }
    if any((finding.path, line) in places for line in lines):
        return True
    text = "\n".join(_lines(finding.path)[lines.start - 1 : lines.stop - 1])
    return any(f"{quote}{str(name).rpartition('/')[2]}{quote}" in text for name in names for quote in "\"'")


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _contradiction(runs: BothRuns, finding: Finding, before: Times, *, is_fixed: bool) -> str:
    """The evidence against a finding; "" if there is none."""
    run = runs.before.run
    if _always_fails(finding) and all(before.values()) and runs.before.ended_well and len(run.ranks) > 1:
        return "" if any(map(_has_caught, run.ranks)) else "each rank has executed it, and the run ended well"
    if not (is_fixed and runs.after):
        return ""
    for failure in (each for each in runs.before.verdicts if each.failed):
        again = runs.after.verdict(failure.oracle)
        if again is None or not again.failed or again.kind != failure.kind:
            continue
        if failure.oracle == termination.ORACLE and cause.is_at(run, failure, [finding]):
            if _fails_there(runs, again, finding) and failures.is_same(_without_place(failure), _without_place(again)):
                return "fixed it fails there in the same way"
        elif failure.oracle in OF_METRICS and _is_of_metric(run, failure, finding):
            both = _metrics(failure) & _metrics(again)
            if both and not any(both & _metrics(each) for each in runs.repaired()):  # another oracle says that it helps
                return f"fixed, {', '.join(sorted(both))} fails as well"
    return ""


def _always_fails(finding: Finding) -> bool:
    rule = find_rule(finding.code)
    return rule is not None and rule.always_fails


def _metrics(verdict: Verdict) -> set[str]:
    found = verdict.data.get("metrics")
    return {str(name) for name in found} if isinstance(found, Mapping) else set()


def _without_place(verdict: Verdict) -> Verdict:
    """A verdict without its place, which is on another line in a fixed text."""
    data = {key: value for key, value in verdict.data.items() if key != "at"}
    return Verdict(verdict.oracle, verdict.outcome, verdict.summary, verdict.evidence, verdict.kind, data)


def _fails_there(runs: BothRuns, again: Verdict, finding: Finding) -> bool:
    """Whether the fixed copy fails in the lines that replace a finding."""
    assert runs.after is not None
    text = runs.sources.get(finding.path)
    lines = fixed_lines(finding, text) if text else [finding.start.line]
    failing = [rank for rank in runs.after.run.ranks if rank.number in again.ranks and rank.end is not None]
    places = [place for rank in failing if rank.end for place in rank.end.at]
    return any(os.path.realpath(each.file) == finding.path and each.line in lines for each in places)


def _has_caught(rank: RankRecord) -> bool:
    """Whether a rank has executed an `except` clause, which may hide anything."""
    for file, marked in rank.executed.files.items():
        source = marked.statements
        handlers: Iterable[int] = (
            (each.number for each in source.all if each.block.part == "handlers") if source else ()
        )
        if any(rank.executed.counts.get(Ran(file, number)) for number in handlers):
            return True
    return False

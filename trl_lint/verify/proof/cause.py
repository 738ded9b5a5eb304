"""Whether a fix is the reason why a program fails unchanged and passes when fixed.

It may be chance, or due to what an earlier run has left behind, for example an output folder that two ranks raced for
and that now exists. Two observations support the fix: the fixed code had run before the failure, and the unchanged
program fails a second time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from trl_lint.findings import Finding
from trl_lint.verify.oracles import failures, termination
from trl_lint.verify.proof import mending
from trl_lint.verify.proof.session import Judged, OneProcess, Session, Subject
from trl_lint.verify.record.traces import RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import Verdict, passed, unknown

ORACLE = "the fix"
# Ways to end whose verdicts name the ranks that failed by themselves.
OF_RANKS = ("exception", "exit", "abort", "killed")


def is_fixed(before: Judged, after: Judged) -> bool:
    """Whether the first failure of a program does not occur when it is fixed, even if others do."""
    failure = next((verdict for verdict in before.verdicts if verdict.failed), None)
    then = after.verdict(failure.oracle) if failure is not None else None
    return failure is not None and not (then is not None and then.failed)


def evidence_for_fixes(
    runner: Session, subject: Subject, before: Judged, fixes: Sequence[Finding], single: OneProcess | None
) -> Verdict:
    """What a fixed copy that has passed shows about the fixes.

    Raises:
        LaunchError: no rank has started.
    """
    failure = next(verdict for verdict in before.verdicts if verdict.failed)
    if not was_reached_before(before.run, failure, fixes):
        at = f" at {', '.join(failure.at)}" if failure.at else ""
        return _inconclusive(f"the failure{at} is not at or behind what was mended ({_named(fixes)})")
    if runner.launch.has_several_nodes:  # the other machines can't know about the additional run
        return _inconclusive("on several machines it is not run again as it is, to see whether the failure repeats")
    again = runner.judge(subject, f"{before.label}, again", single, before)
    if again.passed:
        return _inconclusive("unchanged it passed the second time: the failure does not repeat")
    other = again.verdict(failure.oracle) or failure
    if not failures.is_same(failure, other):
        second = next(verdict for verdict in again.verdicts if verdict.failed)
        return _inconclusive(f"unchanged it failed in another way the second time ({second.summary})")
    return passed(ORACLE, "it fails before and after as it is, at or behind what was mended")


def _inconclusive(reason: str) -> Verdict:
    return unknown(ORACLE, f"{reason}, so nothing is shown of the fix")


def was_reached_before(run: Run, failure: Verdict, fixes: Sequence[Finding]) -> bool:
    """Whether one of these findings had been reached when the run failed.

    The rank that fails by itself has reached it, or another rank had before their last common collective.
    """
    if failure.oracle != termination.ORACLE or failure.kind not in OF_RANKS:
        return any(reached(rank, fixes) for rank in run.ranks)
    failing = [rank for rank in run.ranks if rank.number in failure.ranks]
    if any(reached(rank, fixes) or rank.native for rank in failing):  # the synchronisation points of DDP are unknown
        return any(reached(rank, fixes) for rank in run.ranks)
    met = max((len(rank.calls) for rank in failing), default=0)
    return any(before < met for rank in run.ranks for before in reached(rank, fixes))


def reached(rank: RankRecord, findings: Sequence[Finding]) -> list[int]:
    """For each finding that a rank has reached, the number of collectives it had called before."""
    each = (rank.executed.calls_before(one.path, one.start.line, one.start.column) for one in findings)
    return [before for before in each if before is not None]


def is_at(run: Run, end: Verdict, findings: Sequence[Finding]) -> bool:
    """Whether the ranks that made a run fail did so in one of the findings."""
    failing = [rank for rank in run.ranks if rank.number in end.ranks]
    return any(_is_in(place, finding) for rank in failing for place in _places(rank) for finding in findings)


def _places(rank: RankRecord) -> tuple[SourcePlace, ...]:
    return rank.end.at if rank.end is not None else ()


def _is_in(place: SourcePlace, finding: Finding) -> bool:
    return os.path.realpath(place.file) == finding.path and finding.start.line <= place.line <= finding.end.line


def _named(findings: Sequence[Finding]) -> str:
    """The lines of findings, by file."""
    return ", ".join(
        f"{os.path.basename(file)}:{', '.join(map(str, lines))}" for file, lines in mending.places(findings).items()
    )

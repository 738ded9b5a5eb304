"""For machines: one document with all verdicts, their evidence and their data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from trl_lint import plain
from trl_lint.plain import Json
from trl_lint.verify import reports
from trl_lint.verify.proof.per_finding import FindingVerdict
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.record.verdicts import Evidence, Verdict

VERSION = 1


class Report(reports.Report):
    """`{"version", "nproc", "holds", "subjects": [{"name", "holds", "fixes", "runs": [{"label", "verdicts"}], …}]}`.

    For a subject, `alone` is set if it fails on one process as well, and `shown` is what a fixed copy that passes shows
    about the fix; `interrupted` is set if the command was interrupted. `emulated` names what ran without its device.
    `findings` has the verdict on each (shown, consistent, not reached or contradicted) and, by rank, how often it was
    executed, and how often its replacement was.
    """

    def show(self, proof: Proof) -> None:
        pass

    def close(self) -> None:
        subjects = [_subject(proof) for proof in self.proofs]
        holds = all(proof.holds for proof in self.proofs)
        document: dict[str, Evidence] = {"version": VERSION, "nproc": self.nproc, "holds": holds, "subjects": subjects}
        print(json.dumps(plain.in_json(_plain(document)), indent=2, default=str, allow_nan=False), file=self.out)


def _plain(value: Evidence) -> Json:
    """A value as JSON: a number that is not finite becomes a string."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _subject(proof: Proof) -> dict[str, Evidence]:
    return {
        "name": proof.name,
        "holds": proof.holds,
        "fixes": [reports.headline(finding) for finding in proof.fixes],
        "emulated": [*reports.emulated_devices(proof)],
        "hints": [reports.headline(finding) for finding in proof.hints],
        "findings": [_finding(each) for each in proof.findings],
        "runs": [_run(column) for column in proof.columns],
        "compared": _verdict(proof.compared) if proof.compared else None,
        "alone": _verdict(proof.alone) if proof.alone else None,
        "shown": _verdict(proof.shown) if proof.shown else None,
        "interrupted": proof.is_interrupted,
        "command": proof.command or None,
        "conclusion": None if proof.is_fixture else reports.conclusion(proof),
    }


def _finding(verdict: FindingVerdict) -> dict[str, Evidence]:
    finding = verdict.finding
    return {
        "finding": reports.headline(finding),
        "code": finding.code,
        "path": finding.path,
        "line": finding.start.line,
        "verdict": verdict.outcome.value,
        "reason": verdict.reason or None,
        "is_fixed": verdict.is_fixed,
        "times": {"as it is": verdict.before, "fixed": verdict.fixed},
    }


def _run(column: Column) -> dict[str, Evidence]:
    run = column.judged.run
    return {
        "label": column.judged.label,
        "holds": column.holds,
        "passed": column.judged.passed,
        "seconds": round(run.seconds, 2),
        "ranks": [{"rank": rank.number, "exit": rank.exit, "collectives": len(rank.calls)} for rank in run.ranks],
        "verdicts": [_verdict(verdict) for verdict in column.judged.verdicts],
    }


def _verdict(verdict: Verdict) -> dict[str, Evidence]:
    return {
        "oracle": verdict.oracle,
        "outcome": verdict.outcome.value,
        "way": verdict.kind or None,
        "summary": verdict.summary,
        "evidence": list(verdict.evidence),
        "data": verdict.data,
    }

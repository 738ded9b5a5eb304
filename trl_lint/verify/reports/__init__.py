"""Reports of proofs for the user: one module per output format, each with a class `Report`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TextIO

from trl_lint.findings import Finding
from trl_lint.reports import many, place
from trl_lint.verify.proof.per_finding import FindingVerdict
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.proof.session import Judged
from trl_lint.verify.record.verdicts import Outcome, Verdict


class Report(ABC):
    """Shows proofs as they arrive, then a summary."""

    def __init__(self, out: TextIO, *, nproc: int) -> None:
        self.out = out
        self.nproc = nproc
        self.proofs: list[Proof] = []

    def add(self, proof: Proof) -> None:
        self.proofs.append(proof)
        self.show(proof)

    @abstractmethod
    def show(self, proof: Proof) -> None:
        """Show one proof."""

    @abstractmethod
    def close(self) -> None:
        """Show the text at the end."""


def load(name: str) -> type[Report]:
    """Import the class of an output format."""
    report: type[Report] = import_module(f"{__name__}.{name}").Report
    return report


def headline(finding: Finding) -> str:
    """The place of a finding and its rule."""
    return f"{place(finding)}: {finding.code} {finding.name}"


def fixed(proof: Proof) -> str:
    """The state of the findings that have fixes."""
    return "fixed" if proof.alone is None else "fix not tried"


def findings(proof: Proof) -> list[str]:
    """A line per finding: the verdict of the runs, or its state if there is none."""
    if proof.findings:
        return [_describe(each) for each in proof.findings]
    lines = [f"{fixed(proof)}: {headline(finding)}" for finding in proof.fixes]
    return [*lines, *(f"not fixed: {headline(finding)}" for finding in proof.hints)]


def _describe(verdict: FindingVerdict) -> str:
    reason = f": {verdict.reason}" if verdict.reason else ""
    times = verdict.before if verdict.before and any(verdict.before.values()) else verdict.fixed
    counted = f" ({_times(times)})" if times and any(times.values()) else ""
    return f"{verdict.outcome.value}: {headline(verdict.finding)}{counted}{reason}"


def _times(times: Mapping[int, int]) -> str:
    """How often each rank has executed something."""
    if len(times) > 2 and len(set(times.values())) == 1:
        return f"each of {len(times)} ranks: {many(next(iter(times.values())), 'time')}"
    return ", ".join(f"rank {rank}: {many(count, 'time')}" for rank, count in times.items())


def oracles(proof: Proof) -> list[str]:
    """The rows of a table of runs: the oracles that have judged any of them."""
    return list(dict.fromkeys(each.oracle for column in proof.columns for each in column.judged.verdicts))


def decisive(judged: Judged) -> Verdict:
    """The most relevant verdict: the first that failed, otherwise the first on metrics."""
    order = [verdict for verdict in judged.verdicts if verdict.failed]
    order += [verdict for verdict in judged.verdicts if verdict.oracle == "same metric" and verdict.outcome == "passed"]
    return (order or judged.verdicts)[0]


def outcome(column: Column) -> str:
    """The result of one run, in a few words."""
    if column.judged.passed:
        return "passes" if not column.wanted else f"passes, but should fail ({column.wanted})"
    kinds = ", ".join(dict.fromkeys(verdict.kind for verdict in column.judged.verdicts if verdict.failed))
    if column.wanted:
        return f"fails as it should: {column.wanted}" if column.holds else f"fails, but not by {column.wanted}: {kinds}"
    return f"passes in all that is its own ({kinds} elsewhere)" if column.holds else f"fails: {kinds}"


def missing_traces(proof: Proof) -> list[str]:
    """The ranks of which this machine has no traces."""
    groups = [run for run in proof.runs if run.world_size > 1]
    seen = min((len(run.ranks) for run in groups), default=0)
    size = max((run.world_size for run in groups), default=0)
    if seen >= size:
        return []
    return [f"Judged were the {many(seen, 'rank')} of this machine, of {size}: --keep a folder that all share for all."]


def emulated_devices(proof: Proof) -> list[str]:
    """What was emulated, because its device is missing."""
    return sorted({rank.emulated for run in proof.runs for rank in run.ranks if rank.emulated})


def emulated(proof: Proof) -> list[str]:
    """The same in sentences."""
    return [f"Emulated: {name}." for name in emulated_devices(proof)]


def conclusion(proof: Proof) -> str:
    """The conclusion from the runs of a user's program, in a sentence."""
    if proof.is_interrupted:
        return "Interrupted: this is what was seen until then."
    if proof.alone is not None:
        return f"It fails on one process as well: not a multi-process bug. There: {_line(proof.alone)}."
    before, *after = [column for column in proof.columns if not column.is_bare]
    if not proof.columns[0].holds and before.holds:
        return "It fails with bare python on several GPUs: start it with `accelerate launch` or `torchrun`."
    if proof.columns[0].is_bare and not before.holds and not after:
        return "It fails however it is started."
    if before.holds:
        left = many(proof.not_reached, "finding")
        missed = f"; {left} {'was' if proof.not_reached == 1 else 'were'} not reached" * bool(proof.not_reached)
        return f"Nothing wrong was seen{missed}. That is no proof: a run only shows what it reaches."
    if not after:
        return "It fails, and trl-lint has no fix to try."
    if not after[0].holds:
        return "It fails as it is, and fixed as well."
    if proof.shown is not None and proof.shown.outcome is not Outcome.PASSED:
        return f"It failed as it is and passed when fixed, but {proof.shown.summary}."
    if proof.compared is not None and proof.compared.failed:
        return "It fails as it is and passes when fixed, but the fix changes what is trained: check whether it should."
    return f"It fails as it is and passes when fixed: run `{proof.command}`."


def _line(end: Verdict) -> str:
    """A failure of one process in a line: its message and place."""
    message = str(end.data.get("said") or end.summary)
    return f"{message} (at {', called from '.join(end.at)})" if end.at else message


def closing(proofs: list[Proof], nproc: int) -> str:
    """One line that sums up all proofs."""
    columns = [column for proof in proofs for column in proof.columns]
    good = sum(column.holds for column in columns)
    programs, processes = many(len(proofs), "program"), many(nproc, "process", "es")
    return f"{good} of {many(len(columns), 'run')} of {programs} on {processes} came out as they should."

"""For a page: one table of subjects and runs, then the evidence of each."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.verify import reports
from trl_lint.verify.proof.proofs import Column, Proof

MARKS = {"passed": "yes", "failed": "**no**", "unknown": "-"}


class Report(reports.Report):
    """A table, then a section per subject."""

    def show(self, proof: Proof) -> None:
        pass

    def close(self) -> None:
        for line in (*table(self.proofs), "", *sections(self.proofs), reports.closing(self.proofs, self.nproc)):
            print(line, file=self.out)


def table(proofs: list[Proof]) -> Iterator[str]:
    """Subject, run, its result and the decisive verdict."""
    yield "| subject | run | outcome | decisive evidence |"
    yield "| --- | --- | --- | --- |"
    for proof in proofs:
        for column in proof.columns:
            summary = reports.decisive(column.judged).summary
            cells = (proof.name, column.judged.label, reports.outcome(column), summary)
            yield f"| {' | '.join(map(escaped, cells))} |"


def sections(proofs: list[Proof]) -> Iterator[str]:
    for proof in proofs:
        yield f"## {proof.name}\n"
        yield from (f"- {line}" for line in reports.emulated(proof))
        yield from (f"- {escaped(line)}" for line in reports.findings(proof))
        for column in proof.columns:
            yield from _section(column)
        if proof.compared:
            yield f"\nBefore and after: {escaped(proof.compared.summary)}."
        if not proof.is_fixture:
            yield f"\n{escaped(reports.conclusion(proof))}"
        yield ""


def _section(column: Column) -> Iterator[str]:
    yield f"\n{column.judged.label}:\n"
    yield "| oracle | holds | what it says |"
    yield "| --- | --- | --- |"
    for verdict in column.judged.verdicts:
        text = "<br>".join(map(escaped, (verdict.summary, *verdict.evidence)))
        yield f"| {verdict.oracle} | {MARKS[verdict.outcome.value]} | {text} |"


def escaped(text: str) -> str:
    """Text escaped for a table cell."""
    for char in "\\|*_`<>[]":
        text = text.replace(char, f"\\{char}")
    return " ".join(text.split())

"""For people: a script's runs side by side; for the fixtures, a line per run as they finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.reports import many
from trl_lint.verify import reports
from trl_lint.verify.proof.proofs import Column, Proof
from trl_lint.verify.record.verdicts import Outcome, Verdict

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

WIDTH = 140  # if the output is no terminal
MARKS = {
    Outcome.PASSED: ("passed", "green"),
    Outcome.FAILED: ("FAILED", "bold red"),
    Outcome.UNKNOWN: ("-", "dim"),
}


class Report(reports.Report):
    """A table for a script; lines for the fixtures."""

    def show(self, proof: Proof) -> None:
        from rich.console import Console

        width = None if self.out.isatty() else WIDTH
        console = Console(file=self.out, width=width, highlight=False, markup=False, soft_wrap=False)
        if not proof.is_fixture:
            console.print(_table(proof, self.nproc))
            for line in _below(proof):
                console.print(line, soft_wrap=True)
            return
        for column in proof.columns:
            mark, style = ("ok", "green") if column.holds else ("WRONG", "bold red")
            console.print(f"{mark:<5} ", style=style, end="")
            decisive = reports.decisive(column.judged)
            name = f"{proof.name} ({column.judged.label})"
            console.print(f"{name}: {reports.outcome(column)}: {decisive.summary}", soft_wrap=True)
            for line in () if column.holds else _evidence(column):
                console.print(f"        {line}", soft_wrap=True)

    def close(self) -> None:
        if len(self.proofs) != 1 or self.proofs[0].is_fixture:
            print(reports.closing(self.proofs, self.nproc), file=self.out)


def _evidence(column: Column) -> list[str]:
    return [f"{v.oracle}: {line}" for v in column.judged.verdicts if v.failed for line in (v.summary, *v.evidence)]


def _table(proof: Proof, nproc: int) -> Table:
    """Oracles as rows, runs as columns."""
    from rich import box
    from rich.table import Table

    table = Table(title=f"{proof.name} on {_processes(proof, nproc)}", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("", no_wrap=True)
    for column in proof.columns:
        table.add_column(f"{column.judged.label} ({column.judged.run.seconds:.1f} s)", ratio=1)
    for oracle in reports.oracles(proof):
        table.add_row(oracle, *(_cell(column.judged.verdict(oracle)) for column in proof.columns))
    return table


def _processes(proof: Proof, nproc: int) -> str:
    """The number of processes: with several machines more than here; a rank that failed at its start knows no other."""
    return many(max((nproc, *(run.world_size for run in proof.runs))), "process", "es")


def _cell(verdict: Verdict | None) -> str | Text:
    from rich.text import Text

    if verdict is None:
        return ""
    word, style = MARKS[verdict.outcome]
    kind = f" ({verdict.kind})" if verdict.kind else ""
    lines = "".join(f"\n{line}" for line in verdict.evidence)
    return Text.assemble((f"{word}{kind}: ", style), f"{verdict.summary}{lines}\n")


def _below(proof: Proof) -> list[str]:
    lines = reports.findings(proof)
    lines += [f"withheld: {reports.headline(finding)}: {reason}" for finding, reason in proof.withheld]
    if proof.compared is not None and proof.compared.outcome is not Outcome.UNKNOWN:
        lines.append(f"before and after: {proof.compared.summary}")
    return [*lines, *reports.missing_traces(proof), *reports.emulated(proof), reports.conclusion(proof)]

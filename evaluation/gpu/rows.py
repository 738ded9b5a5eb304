"""The rows of the table: what was checked, what was expected and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evaluation.gpu.machine import Machine

LONGEST = 240
NOT_RUN = "not run"
TIME_UP = "the time was up"


@dataclass(frozen=True, slots=True)
class Row:
    """One check. holds: None if it was not run; then `seen` says why."""

    what: str
    expected: str
    seen: str
    holds: bool | None

    @property
    def mark(self) -> str:
        return NOT_RUN if self.holds is None else "yes" if self.holds else "**no**"


def not_run(what: str, expected: str, why: str) -> Row:
    return Row(what, expected, f"{NOT_RUN}: {why}", None)


def softly(what: str, expected: str, look: Callable[[], tuple[str, bool]]) -> Row:
    """A row from the result of `look` (what was seen, and whether it holds); if it raises, a row that says so."""
    try:
        return Row(what, expected, *look())
    except Exception as error:  # anything can happen on an unknown machine: the other rows are still wanted
        return Row(what, expected, f"it could not be looked at: {type(error).__name__}: {error}", False)


def page(machine: Machine, rows: Sequence[Row], seconds: float) -> str:
    """The whole page as Markdown."""
    return "\n".join([*_head(machine), *_table(rows), "", closing(rows, seconds), ""])


def _head(machine: Machine) -> Iterator[str]:
    gpus = ", ".join(f"{machine.gpus.count(name)} of {name}" for name in dict.fromkeys(machine.gpus))
    versions = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    yield "# On GPUs\n"
    yield f"{gpus}; driver {machine.driver}, CUDA {machine.cuda}, nccl {machine.nccl}; {versions}.\n"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| what | expected | seen | ok? |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        yield f"| {' | '.join(map(_cell, (row.what, row.expected, row.seen)))} | {row.mark} |"


def _cell(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def closing(rows: Sequence[Row], seconds: float) -> str:
    """How many are as expected, and how many were not run."""
    run = [row for row in rows if row.holds is not None]
    held = sum(bool(row.holds) for row in run)
    return f"{held} of {len(run)} as expected, {len(rows) - len(run)} not run; {seconds:.0f} s."

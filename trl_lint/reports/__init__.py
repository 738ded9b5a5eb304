"""What the user reads: one module per output format, each with a class `Report`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import ClassVar, TextIO

from trl_lint.discovery import display_path
from trl_lint.findings import Applicability, Finding
from trl_lint.runner import FileResult


@dataclass(slots=True)
class Tally:
    """What a run has come to so far."""

    files: int = 0
    problems: int = 0
    findings: list[Finding] = field(default_factory=list)
    applied: list[Finding] = field(default_factory=list)
    withheld: list[tuple[Finding, str]] = field(default_factory=list)

    def add(self, result: FileResult) -> None:
        self.files += 1
        self.problems += result.problem is not None
        self.findings += result.findings
        self.applied += result.applied
        self.withheld += result.withheld

    def count(self, applicability: Applicability) -> int:
        """How many of the findings that are left carry such a fix."""
        return sum(
            finding.fix is not None and finding.fix.applicability is applicability
            for finding in self.findings
        )


class Report(ABC):
    """Shows results one by one, then closes.

    `unsafe`: the user lets `--fix` apply unsafe fixes. `fixing`: this run has tried to fix.
    """

    # Whether the edits of fixes are shown.
    needs_edits: ClassVar[bool] = False

    def __init__(
        self, out: TextIO, *, unsafe: bool = False, fixing: bool = False, colour: bool = False
    ) -> None:
        self.out = out
        self.unsafe = unsafe
        self.fixing = fixing
        self.colour = colour
        self.tally = Tally()

    def add(self, result: FileResult) -> None:
        """Show what is left in one file."""
        self.tally.add(result)
        self.show(result)

    @abstractmethod
    def show(self, result: FileResult) -> None:
        """Show the findings of one file."""

    @abstractmethod
    def close(self) -> None:
        """Show what stands at the end."""

    @property
    def anything(self) -> bool:
        """Whether there was anything to report, for the exit code."""
        return bool(self.tally.findings)

    def mends(self, finding: Finding) -> bool:
        """Whether `--fix`, as the user has set it, would try to mend the finding."""
        if finding.fix is None or self.fixing:
            return False
        unsafe_too = self.unsafe and finding.fix.applicability is Applicability.UNSAFE
        return unsafe_too or finding.fix.applicability is Applicability.SAFE


def load(name: str) -> type[Report]:
    """The class of an output format, imported only now."""
    return import_module(f"{__name__}.{name}").Report


def place(finding: Finding) -> str:
    """`path:line:column` of a finding."""
    return f"{display_path(finding.path)}:{finding.start.line}:{finding.start.column}"


def headline(finding: Finding, mends: bool) -> str:
    """The one line that says it all; `[*]` marks what `--fix` would mend."""
    mark = " [*]" * mends
    return f"{place(finding)}: {finding.code}{mark} {finding.name}: {finding.message}"


def summary(tally: Tally, *, unsafe: bool, fixing: bool) -> Iterator[str]:
    """The closing line, when there is something to sum up."""
    if not tally.findings:
        return
    safe, risky = tally.count(Applicability.SAFE), tally.count(Applicability.UNSAFE)
    now = 0 if fixing else safe + risky * unsafe
    later = 0 if unsafe else risky
    notes = [f"{now} fixable with --fix"] * bool(now)
    notes += [f"{later}{' more' * bool(now)} with --unsafe-fixes"] * bool(later)
    files = len({finding.path for finding in tally.findings})
    note = f" ({', '.join(notes)})" * bool(notes)
    yield f"Found {many(len(tally.findings), 'finding')} in {many(files, 'file')}{note}."


def fixes(tally: Tally, verb: str = "Fixed") -> Iterator[str]:
    """What `--fix` did, and what it did not do and why."""
    if tally.applied:
        files = len({finding.path for finding in tally.applied})
        yield f"{verb} {many(len(tally.applied), 'finding')} in {many(files, 'file')}:"
        yield from (f"  {place(finding)}: {finding.code} {finding.name}" for finding in tally.applied)
    if tally.withheld:
        yield f"Withheld {many(len(tally.withheld), 'fix', 'es')}:"
        for finding, reason in tally.withheld:
            yield f"  {place(finding)}: {finding.code} {finding.name}: {reason}"


def many(number: int, noun: str, ending: str = "s") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{ending * (number != 1)}"

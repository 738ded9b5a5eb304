"""What the user reads: one module per output format, each with a class `Report`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

from trl_lint import plain
from trl_lint.findings import Applicability, Finding
from trl_lint.linter.files.discovery import display_path
from trl_lint.settings import ConfigError

if TYPE_CHECKING:
    from trl_lint.linter.runner import FileResult


class Tally:
    """The results of a run so far."""

    def __init__(self) -> None:
        self.files = self.irrelevant = self.not_understood = self.left_out = 0
        self.silenced = self.hidden = self.problems = self.uncovered = 0
        self.findings: list[Finding] = []
        self.applied: list[Finding] = []
        self.partly: list[Finding] = []
        self.withheld: list[tuple[Finding, str]] = []

    def add(self, result: FileResult) -> None:
        self.files += not result.passed_over
        self.irrelevant += result.understood and not result.relevant and not result.passed_over
        self.not_understood += not result.understood
        self.silenced += result.silenced
        self.hidden += result.hidden
        self.problems += result.problem is not None
        self.findings += result.findings
        self.applied += result.applied
        self.partly += result.partly
        self.withheld += result.withheld
        self.uncovered += result.uncovered

    @property
    def analysed(self) -> int:
        """How many files were fully analysed."""
        return self.files - self.irrelevant - self.not_understood

    def count(self, applicability: Applicability) -> int:
        """How many of the remaining findings have a fix of this applicability."""
        return sum(finding.fix is not None and finding.fix.applicability is applicability for finding in self.findings)


class Report(ABC):
    """Shows results one by one, then closes.

    Args:
        unsafe: Whether the user lets `--fix` apply unsafe fixes.
        fixing: Whether this run has tried to fix.
        quiet: Whether only findings are shown.
        root: The folder of the project, if there is one.
    """

    # Whether the edits of fixes are shown.
    needs_edits: ClassVar[bool] = False

    def __init__(
        self,
        out: TextIO,
        *,
        unsafe: bool = False,
        fixing: bool = False,
        colour: bool = False,
        quiet: bool = False,
        root: Path | None = None,
    ) -> None:
        self.out = out
        self.unsafe = unsafe
        self.fixing = fixing
        self.colour = colour
        self.quiet = quiet
        self.root = root
        self.tally = Tally()
        self.begin()

    def begin(self) -> None:  # noqa: B027 (most formats have nothing to make ready)
        """Prepare what is filled result by result."""

    def add(self, result: FileResult) -> None:
        """Show the remaining findings of one file."""
        self.tally.add(result)
        self.show(result)

    def say(self, text: str, out: TextIO | None = None) -> None:
        """Print one line; unprintable characters are escaped."""
        print(plain.line(text), file=out or self.out)

    @abstractmethod
    def show(self, result: FileResult) -> None:
        """Show the findings of one file."""

    @abstractmethod
    def close(self) -> None:
        """Show the end of the report."""

    @property
    def anything(self) -> bool:
        """Whether there was anything to report, for the exit code."""
        return bool(self.tally.findings)

    def mends(self, finding: Finding) -> bool:
        """Whether `--fix`, with the user's options, would try to fix the finding."""
        if finding.fix is None or self.fixing:
            return False
        unsafe_too = self.unsafe and finding.fix.applicability is Applicability.UNSAFE
        return unsafe_too or finding.fix.applicability is Applicability.SAFE


def load(name: str, plugins: tuple[str, ...] = ()) -> type[Report]:
    """The class of an output format, imported only now.

    Raises:
        ConfigError: `PLUGIN:NAME` is not a format of the plugins that the project uses.
    """
    if ":" in name:
        from trl_lint.plugins import report_of

        found = report_of(name, plugins)
        if not issubclass(found, Report):
            raise ConfigError(f"--output-format {name}: its `Report` is not a `trl_lint.reports.Report`")
        return found
    report: type[Report] = import_module(f"{__name__}.{name.replace('-', '_')}").Report
    return report


def place(finding: Finding) -> str:
    """`path:line:column` of a finding."""
    return f"{display_path(finding.path)}:{finding.start}"


def headline(finding: Finding, is_fixable: bool) -> str:
    """The one-line form of a finding."""
    return f"{place(finding)}: {message_text(finding, is_fixable)}"


def message_text(finding: Finding, mends: bool) -> str:
    """The text of a finding without its place; `[*]` marks what `--fix` would fix."""
    mark = " [*]" * mends
    return f"{finding.code}{mark} {finding.headline}"


def summary(tally: Tally, *, unsafe: bool, fixing: bool) -> Iterator[str]:
    """The closing line, if there is anything to sum up."""
    if not tally.findings:
        return
    safe, risky = tally.count(Applicability.SAFE), tally.count(Applicability.UNSAFE)
    now = 0 if fixing else safe + risky * unsafe
    later = 0 if unsafe else risky
    notes = [f"{tally.uncovered} revealed by the fixes"] * bool(tally.uncovered)
    notes += [f"{now} fixable with --fix"] * bool(now)
    notes += [f"{later}{' more' * bool(now)} with --unsafe-fixes"] * bool(later)
    files = len({finding.path for finding in tally.findings})
    note = f" ({', '.join(notes)})" * bool(notes)
    yield f"Found {many(len(tally.findings), 'finding')} in {many(files, 'file')}{note}."


def closing(report: Report) -> Iterator[str]:
    """The end of one-line formats: what was fixed, and what remains."""
    if not report.quiet:
        yield from fixes(report.tally)
        yield from summary(report.tally, unsafe=report.unsafe, fixing=report.fixing)


def looked_at(tally: Tally) -> str:
    """The very last line: how many files the report is about, and what is known but not shown."""
    parts = [f"{many(tally.analysed, 'file')} analysed"]
    parts += [f"{tally.irrelevant} skipped as irrelevant"] * bool(tally.irrelevant)
    parts += [f"{tally.not_understood} not understood"] * bool(tally.not_understood)
    parts += [f"{tally.left_out} excluded by `exclude` or .gitignore"] * bool(tally.left_out)
    parts[-1] += "".join(f"; {each}" for each in not_shown(tally))
    return f"{', '.join(parts)}."


def not_shown(tally: Tally) -> Iterator[str]:
    """What was found but is not shown, and why."""
    if tally.silenced:
        yield f"{many(tally.silenced, 'finding')} silenced by comments"
    if tally.hidden:
        yield f"{many(tally.hidden, 'finding')} hidden by the baseline"


def fixes(tally: Tally, verb: str = "Fixed") -> Iterator[str]:
    """What `--fix` did, at places in the original files, and what it did not do and why."""
    for action, found in ((verb, tally.applied), (f"{verb} in part", tally.partly)):
        if found:
            files = len({finding.path for finding in found})
            yield f"{action} {many(len(found), 'finding')} in {many(files, 'file')}:"
            yield from (f"  {place(finding)}: {finding.code} {finding.name}" for finding in found)
    if tally.withheld:
        yield f"Withheld {many(len(tally.withheld), 'fix', 'es')}:"
        for finding, reason in tally.withheld:
            yield f"  {place(finding)}: {finding.code} {finding.name}: {reason}"


def many(number: int, noun: str, ending: str = "s") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{ending * (number != 1)}"

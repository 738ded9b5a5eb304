"""Workflow commands, which GitHub shows as annotations.

The log shows only the text after the `::`, so that repeats the place.
"""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint import plain, reports
from trl_lint.findings import Finding, Severity
from trl_lint.linter.runner import FileResult
from trl_lint.reports.places import base_of, in_file, relative

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# Characters that end a property or a command, and their escapes.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


class Report(reports.Report):
    """`::error title=…,file=…,line=…,…::path:line:column: CODE message`, and the help on a second line of the note."""

    def begin(self) -> None:
        self.base = base_of(self.root)

    def show(self, result: FileResult) -> None:
        for finding in in_file(result).findings:
            self._command(finding)

    def close(self) -> None:
        """Do nothing: the log would show any line that is not a command as it is."""

    def _command(self, finding: Finding) -> None:
        path = relative(finding.path, self.base)
        values = {"title": f"{finding.code} {finding.name}", "file": path, **_region(finding)}
        properties = ",".join(f"{name}={_escaped(str(value), _IN_PROPERTY)}" for name, value in values.items())
        place = f"{path}:{finding.start.line}:{finding.start.column}"
        lines = [f"{place}: {finding.code} {finding.message}"]
        lines += [f"help: {finding.advice}"] * bool(finding.advice)
        message = _escaped("\n".join(map(plain.line, lines)), _IN_MESSAGE)
        print(f"::{LEVELS[finding.severity]} {properties}::{message}", file=self.out)


def _region(finding: Finding) -> dict[str, int]:
    """The start and the end; GitHub does not accept columns for several lines."""
    start, end = finding.start, finding.end
    lines = {"line": start.line, "endLine": end.line}
    return lines if start.line != end.line else {**lines, "col": start.column, "endColumn": end.column}


def _escaped(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(char, char) for char in text)

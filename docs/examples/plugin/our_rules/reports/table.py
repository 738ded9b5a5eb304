"""`--output-format our-rules:table`: a line for each finding, with commas between its columns."""

from __future__ import annotations

from trl_lint import reports
from trl_lint.linter.runner import FileResult


class Report(reports.Report):
    def show(self, result: FileResult) -> None:
        for finding in result.findings:
            self.say(",".join((finding.code, reports.place(finding), finding.consequence.value)))

    def close(self) -> None:
        """There is nothing to sum up."""

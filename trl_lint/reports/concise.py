"""One line per finding, for logs, editors and `grep`."""

from __future__ import annotations

from trl_lint import reports
from trl_lint.linter.runner import FileResult


class Report(reports.Report):
    """`path:line:column: CODE [consequence] name: message`, and the summary. Silent when there is nothing to say."""

    def show(self, result: FileResult) -> None:
        for finding in result.findings:
            self.say(reports.headline(finding, self.mends(finding)))

    def close(self) -> None:
        # Hidden findings must not be taken for fixed.
        hidden = [reports.looked_at(self.tally)] * bool(self.tally.hidden and not self.quiet)
        for line in (*reports.closing(self), *hidden):
            self.say(line)

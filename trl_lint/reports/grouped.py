"""One line per finding, grouped by file."""

from __future__ import annotations

from trl_lint import reports
from trl_lint.linter.files.discovery import display_path
from trl_lint.linter.runner import FileResult


class Report(reports.Report):
    """`path:`, then `  line:column  CODE [consequence] name: message`, and the summary."""

    def show(self, result: FileResult) -> None:
        if not result.findings:
            return
        places = [str(each.start) for each in result.findings]
        width = max(map(len, places))
        self.say(f"{display_path(result.path)}:")
        for place, finding in zip(places, result.findings, strict=True):
            self.say(f"  {place:<{width}}  {reports.message_text(finding, self.mends(finding))}")
        self.say("")

    def close(self) -> None:
        for line in reports.closing(self):
            self.say(line)

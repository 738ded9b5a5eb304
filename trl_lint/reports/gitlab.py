"""GitLab's code quality report, with fingerprints."""

from __future__ import annotations

from trl_lint import reports
from trl_lint.findings import Finding, Position, Severity
from trl_lint.linter.runner import FileResult
from trl_lint.plain import Json
from trl_lint.reports.fingerprints import distinct, short
from trl_lint.reports.json import write
from trl_lint.reports.places import base_of, in_file, relative

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


class Report(reports.Report):
    """The list, empty if nothing was found. No fingerprint may occur twice in the whole report."""

    def begin(self) -> None:
        self.base = base_of(self.root)
        self.rows: list[Json] = []

    def show(self, result: FileResult) -> None:
        known = distinct(result)
        self.rows += [self._row(*each) for each in zip(in_file(result).findings, known, strict=True)]

    def close(self) -> None:
        write(self.out, self.rows)

    def _row(self, finding: Finding, fingerprint: str) -> dict[str, Json]:
        path = relative(finding.path, self.base)
        return {
            "check_name": finding.code,
            "description": f"{finding.code} {finding.name}: {finding.message}",
            "severity": SEVERITIES[finding.severity],
            "fingerprint": short(f"{path}\0{fingerprint}"),
            "categories": ["Bug Risk"],
            "content": {"body": finding.advice},
            "location": {
                "path": path,
                "positions": {"begin": _place(finding.start), "end": _place(finding.end)},
            },
        }


def _place(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}

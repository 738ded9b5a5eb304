"""The objects of the `json` format, one per line."""

from __future__ import annotations

import json

from trl_lint import plain, reports
from trl_lint.linter.runner import FileResult
from trl_lint.reports.json import rows


class Report(reports.Report):
    """One line with a JSON object per finding, and nothing else."""

    needs_edits = True

    def show(self, result: FileResult) -> None:
        for row in rows(result):
            print(json.dumps(plain.in_json(row)), file=self.out)

    def close(self) -> None:
        """Do nothing."""

"""ruff's JSON, so that what reads ruff's findings reads ours; `because`, `consequence` and `also` are our additions."""

from __future__ import annotations

import json
import os
from typing import TextIO

from trl_lint import plain, reports
from trl_lint.findings import Finding, Fix, Position
from trl_lint.linter import suppressions
from trl_lint.linter.runner import FileResult
from trl_lint.plain import Json


class Report(reports.Report):
    """A list of findings. Nothing else is printed, so that the output is always one JSON document."""

    needs_edits = True

    def __init__(self, out: TextIO, *, unsafe: bool = False, fixing: bool = False, colour: bool = False) -> None:
        super().__init__(out, unsafe=unsafe, fixing=fixing, colour=colour)
        self.rows: list[dict[str, Json]] = []

    def show(self, result: FileResult) -> None:
        if result.findings:
            places = suppressions.Places(result.source, result.path)
            self.rows += [_row(finding, places.noqa_row(finding)) for finding in result.findings]

    def close(self) -> None:
        json.dump(plain.in_json(self.rows), self.out, indent=2)
        self.out.write("\n")


def _row(finding: Finding, noqa_row: int) -> dict[str, Json]:
    return {
        "cell": _cell(finding.start),
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": os.path.abspath(finding.path),
        "location": _place(finding.start),
        "end_location": _place(finding.end),
        "fix": _fix(finding.fix) if finding.fix else None,
        "url": finding.url,
        "because": [
            {
                "cell": _cell(step.start),
                "message": step.text,
                "filename": os.path.abspath(step.path),
                "location": _place(step.start),
            }
            for step in finding.because
        ],
        "consequence": finding.consequence.value,
        "also": [
            {
                "cell": _cell(each.start),
                "code": each.code,
                "message": each.message,
                "filename": os.path.abspath(each.path),
                "location": _place(each.start),
            }
            for each in finding.also
        ],
        "noqa_row": noqa_row,
    }


def _fix(fix: Fix) -> dict[str, Json]:
    edits: list[Json] = [
        # ruff's edits have no cell; here one fix may change several.
        ({"cell": edit.start.cell} if edit.start.cell else {})
        | {"content": edit.content, "location": _place(edit.start), "end_location": _place(edit.end)}
        for edit in fix.edits()
    ]
    return {"applicability": fix.applicability.value, "message": fix.title, "edits": edits}


def _cell(position: Position) -> int | None:
    """The cell of a notebook, as ruff numbers them; None in other files."""
    return position.cell or None


def _place(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}

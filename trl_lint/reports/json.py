"""ruff's JSON, so that what reads ruff's findings reads ours; `because`, `consequence` and `also` are our additions."""

from __future__ import annotations

import json
import os
from typing import TextIO

from trl_lint import plain, reports
from trl_lint.findings import Finding, Fix, Position
from trl_lint.launch.parsers.readers import is_launch_file
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
            is_launch = is_launch_file(result.path, result.source)
            spans = {} if is_launch else suppressions.joined_lines(result.source)
            self.rows += [_row(finding, spans, is_launch) for finding in result.findings]

    def close(self) -> None:
        json.dump(plain.in_json(self.rows), self.out, indent=2)
        self.out.write("\n")


def _row(finding: Finding, spans: dict[int, tuple[int, int]], is_launch: bool) -> dict[str, Json]:
    line = finding.start.line
    last = finding.end.line if is_launch else line
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": os.path.abspath(finding.path),
        "location": _place(finding.start),
        "end_location": _place(finding.end),
        "fix": _fix(finding.fix) if finding.fix else None,
        "url": finding.url,
        "because": [
            {"message": step.text, "filename": os.path.abspath(step.path), "location": _place(step.start)}
            for step in finding.because
        ],
        "consequence": finding.consequence.value,
        "also": [
            {
                "code": each.code,
                "message": each.message,
                "filename": os.path.abspath(each.path),
                "location": _place(each.start),
            }
            for each in finding.also
        ],
        "noqa_row": spans.get(line, (line, last))[1],
    }


def _fix(fix: Fix) -> dict[str, Json]:
    edits: list[Json] = [
        {"content": edit.content, "location": _place(edit.start), "end_location": _place(edit.end)}
        for edit in fix.edits()
    ]
    return {"applicability": fix.applicability.value, "message": fix.title, "edits": edits}


def _place(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}

"""ruff's JSON format with additional keys.

ruff's is a list, which has no room for a version, so each finding has it, as `version`. It increases when a key is
removed or changes its meaning, not when one is added.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TextIO

from trl_lint import plain, reports
from trl_lint.findings import Finding, Fix, Guard, Note, Position
from trl_lint.linter.comments import suppressions
from trl_lint.linter.runner import FileResult
from trl_lint.plain import Json

VERSION = 1


class Report(reports.Report):
    """A list of findings. Nothing else is printed, so that the output is always one JSON document."""

    needs_edits = True

    def begin(self) -> None:
        self.rows: list[Json] = []

    def show(self, result: FileResult) -> None:
        self.rows += rows(result)

    def close(self) -> None:
        write(self.out, self.rows)


def write(out: TextIO, document: Json) -> None:
    """Write a machine-readable document."""
    json.dump(plain.in_json(document), out, indent=2)
    out.write("\n")


def rows(result: FileResult) -> Iterator[dict[str, Json]]:
    """A row for each finding of a file."""
    if result.findings:
        comments = suppressions.Comments(result.source, result.path)
        yield from (_row(finding, comments.noqa_row(finding)) for finding in result.findings)


def _row(finding: Finding, noqa_row: int) -> dict[str, Json]:
    return {
        "version": VERSION,
        "cell": _cell(finding.start),
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "help": finding.advice or None,
        "filename": os.path.abspath(finding.path),
        "location": _place(finding.start),
        "end_location": _place(finding.end),
        "fix": _fix(finding.fix) if finding.fix else None,
        "url": finding.url,
        "guard": _guard(finding.guard) if finding.guard else None,
        "because": [_note(step) for step in finding.because],
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


def _guard(guard: Guard) -> dict[str, Json]:
    end: dict[str, Json] = {"end_location": _place(guard.end), "here": guard.meaning}
    return _note(guard) | end


def _note(note: Note | Guard) -> dict[str, Json]:
    return {
        "cell": _cell(note.start),
        "message": note.text,
        "filename": os.path.abspath(note.path),
        "location": _place(note.start),
    }


def _fix(fix: Fix) -> dict[str, Json]:
    edits: list[Json] = [
        # ruff's edits have no cell; here one fix may change several
        ({"cell": edit.start.cell} if edit.start.cell else {})
        | {"content": edit.content, "location": _place(edit.start), "end_location": _place(edit.end)}
        for edit in fix.edits()
    ]
    return {
        "applicability": fix.applicability.value,
        "message": fix.title,
        "edits": edits,
        "reason": fix.reason or None,
        "conditions": [_note(each) for each in fix.conditions],
    }


def _cell(position: Position) -> int | None:
    """The cell of a notebook, as ruff numbers them; None in other files."""
    return position.cell or None


def _place(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}

"""The outcome of a check as JSON rows, and back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from trl_lint.findings import Applicability, Consequence, Edit, Finding, Fix, Guard, Note, Position, Related
from trl_lint.linter.results import SourceError

if TYPE_CHECKING:
    from typing import TypedDict

    class PositionRow(TypedDict):
        line: int
        column: int
        cell: int

    class StepRow(TypedDict):
        text: str
        path: str
        start: PositionRow
        hands_on: bool

    class RelatedRow(TypedDict):
        code: str
        message: str
        path: str
        start: PositionRow

    class GuardRow(TypedDict):
        text: str
        path: str
        start: PositionRow
        end: PositionRow
        meaning: str

    class EditRow(TypedDict):
        start: PositionRow
        end: PositionRow
        content: str

    class FixRow(TypedDict):
        applicability: str
        title: str
        reason: str
        edits: list[EditRow] | None
        conditions: list[StepRow]

    class FindingRow(TypedDict):
        code: str
        name: str
        message: str
        path: str
        start: PositionRow
        end: PositionRow
        because: list[StepRow]
        help: str
        fix: FixRow | None
        consequence: str
        by_default: bool
        also: list[RelatedRow]
        branches: list[PositionRow]
        guard: GuardRow | None

    class ErrorRow(TypedDict):
        line: int
        column: int
        message: str
        verdict: str

    class OutcomeRow(TypedDict):
        findings: list[FindingRow]
        unasked: list[FindingRow]
        error: ErrorRow | None


class CheckOutcome(NamedTuple):
    """The outcome of a check of one content: findings, those that are not wanted, or why it can't be parsed."""

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Finding, ...] = ()
    error: SourceError | None = None


def with_edits_built(finding: Finding) -> Finding:
    """The finding with its edits built."""
    if finding.fix is None:
        return finding
    edits = finding.fix.edits()
    return replace(finding, fix=replace(finding.fix, edits=lambda: edits))


def row_of(outcome: CheckOutcome, with_edits: bool) -> OutcomeRow:
    error = outcome.error
    return {
        "findings": [_finding_row(finding, with_edits) for finding in outcome.findings],
        "unasked": [_finding_row(replace(finding, fix=None), with_edits) for finding in outcome.unasked],
        "error": None if error is None else _error_row(error),
    }


def _error_row(error: SourceError) -> ErrorRow:
    return {"line": error.line, "column": error.column, "message": error.message, "verdict": error.verdict}


def _finding_row(finding: Finding, with_edits: bool) -> FindingRow:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": finding.path,
        "start": _position_row(finding.start),
        "end": _position_row(finding.end),
        "because": [_step_row(step) for step in finding.because],
        "help": finding.help,
        "fix": _fix_row(finding.fix, with_edits) if finding.fix else None,
        "consequence": finding.consequence.value,
        "by_default": finding.by_default,
        "also": [
            {"code": each.code, "message": each.message, "path": each.path, "start": _position_row(each.start)}
            for each in finding.also
        ],
        "branches": [_position_row(each) for each in finding.branches],
        "guard": _guard_row(finding.guard) if finding.guard else None,
    }


def _guard_row(guard: Guard) -> GuardRow:
    return {
        "text": guard.text,
        "path": guard.path,
        "start": _position_row(guard.start),
        "end": _position_row(guard.end),
        "meaning": guard.meaning,
    }


def _fix_row(fix: Fix, with_edits: bool) -> FixRow:
    edits = [_edit_row(edit) for edit in fix.edits()] if with_edits else None
    return {
        "applicability": fix.applicability.value,
        "title": fix.title,
        "reason": fix.reason,
        "edits": edits,
        "conditions": [_step_row(step) for step in fix.conditions],
    }


def _step_row(step: Note) -> StepRow:
    return {"text": step.text, "path": step.path, "start": _position_row(step.start), "hands_on": step.hands_on}


def _edit_row(edit: Edit) -> EditRow:
    return {"start": _position_row(edit.start), "end": _position_row(edit.end), "content": edit.content}


def _position_row(position: Position) -> PositionRow:
    return {"line": position.line, "column": position.column, "cell": position.cell}


def outcome_of(path: str, row: OutcomeRow) -> CheckOutcome:
    error = SourceError(path, **row["error"]) if row["error"] else None
    findings, unasked = (tuple(map(_finding, rows)) for rows in (row["findings"], row["unasked"]))
    return CheckOutcome(findings, unasked, error)


def _finding(row: FindingRow) -> Finding:
    return Finding(
        code=row["code"],
        name=row["name"],
        message=row["message"],
        path=row["path"],
        start=Position(**row["start"]),
        end=Position(**row["end"]),
        because=tuple(map(_note, row["because"])),
        help=row["help"],
        fix=_fix(row["fix"]) if row["fix"] else None,
        consequence=Consequence(row["consequence"]),
        by_default=row["by_default"],
        also=tuple(
            Related(each["code"], each["message"], each["path"], Position(**each["start"])) for each in row["also"]
        ),
        branches=tuple(Position(**each) for each in row["branches"]),
        guard=_guard(row["guard"]) if row["guard"] else None,
    )


def _guard(row: GuardRow) -> Guard:
    start, end = Position(**row["start"]), Position(**row["end"])
    return Guard(row["text"], row["path"], start, end, row["meaning"])


def _fix(row: FixRow) -> Fix:
    edits = row["edits"]
    build = _edits_not_stored if edits is None else partial(tuple, [_edit(each) for each in edits])
    conditions = tuple(map(_note, row["conditions"]))
    return Fix(Applicability(row["applicability"]), row["title"], build, row["reason"], conditions)


def _note(row: StepRow) -> Note:
    return Note(row["text"], row["path"], Position(**row["start"]), row["hands_on"])


def _edit(row: EditRow) -> Edit:
    return Edit(Position(**row["start"]), Position(**row["end"]), row["content"])


def _edits_not_stored() -> tuple[Edit, ...]:
    raise LookupError("this run was not asked to keep the edits of its fixes")

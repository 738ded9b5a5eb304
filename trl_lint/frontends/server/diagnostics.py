"""Findings as LSP diagnostics: with their positions, their explanation, and the data for their fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from trl_lint.findings import Applicability, Finding, Fix, Note, Position, Severity
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.frontends.server.documents import Version
from trl_lint.linter.results import SourceError

SOURCE = "trl-lint"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
# How a fix's applicability is shown to the editor, after its title.
TRUST = {Applicability.SAFE: "", Applicability.UNSAFE: " (unsafe)"}

# Returns the coordinates of another file.
Elsewhere = Callable[[Path], Coordinates]
JsonData = dict[str, object]


def diagnostic(finding: Finding, version: Version, elsewhere: Elsewhere) -> types.Diagnostic:
    """A finding in one version of a document, at a position that the editor shows."""
    coordinates = (version.text_at(finding.start) or version).coordinates
    text = f"{finding.message}\nhelp: {finding.help}" if finding.help else finding.message
    return types.Diagnostic(
        coordinates.span(finding.start, finding.end),
        text,
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if finding.url else None,
        source=SOURCE,
        related_information=list(_related(finding, version, elsewhere)) or None,
        data=_data(finding, version),
    )


def syntax_error(error: SourceError, version: Version) -> types.Diagnostic:
    """The error that prevents a text from being parsed, and so explains why there are no findings."""
    start = place_of(error)
    coordinates = (version.text_at(start) or version).coordinates
    end = Position(error.line, max(len(coordinates.line(error.line)) + 1, error.column))
    return types.Diagnostic(
        coordinates.span(start, end),
        f"{error.verdict}: {error.message}",
        severity=types.DiagnosticSeverity.Warning,
        source=SOURCE,
    )


def place_of(error: SourceError) -> Position:
    return Position(error.line, error.column, cell=error.cell)


def _related(finding: Finding, version: Version, elsewhere: Elsewhere) -> Iterator[types.DiagnosticRelatedInformation]:
    """The steps that lead to a finding, the reasons why its fix is not safe, and the other places of its cause."""
    steps: Iterable[Note] = dict.fromkeys((*finding.because, *(finding.fix.conditions if finding.fix else ())))
    rows = [(note.text, note.path, note.start) for note in steps]
    rows += [(f"{each.code}: {each.message}", each.path, each.start) for each in finding.also]
    for text, path, start in rows:
        shown_version = version.text_at(start) if Path(path) == version.path else None
        coordinates = shown_version.coordinates if shown_version is not None else elsewhere(Path(path))
        uri = shown_version.uri if shown_version is not None else Path(path).as_uri()
        # A step has no end: mark the rest of its line.
        end = Position(start.line, max(len(coordinates.line(start.line).rstrip()) + 1, start.column))
        yield types.DiagnosticRelatedInformation(types.Location(uri, coordinates.span(start, end)), text)


def _data(finding: Finding, version: Version) -> JsonData:
    """What a code action needs to find the finding again without another lint.

    The edits themselves are computed only when they are requested.
    """
    place = [finding.start.cell, finding.start.line, finding.start.column]
    return {"version": version.number, "name": finding.name, "place": place, "fix": _fix(finding.fix)}


def _fix(fix: Fix | None) -> JsonData | None:
    if fix is None or fix.applicability not in TRUST:
        return None
    why = f": {fix.reason}" if fix.reason else ""
    return {
        "title": f"{fix.title}{TRUST[fix.applicability]}{why}",
        "safe": fix.applicability is Applicability.SAFE,
    }

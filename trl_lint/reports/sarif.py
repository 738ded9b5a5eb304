"""SARIF 2.1.0, for code scanning and similar services.

Findings that a comment silences are omitted: SARIF could contain them as suppressed, but GitHub shows those as open.
"""

from __future__ import annotations

from pathlib import Path

from trl_lint import __version__, findings, plain, reports
from trl_lint.findings import Applicability, Finding, Fix, Position
from trl_lint.linter.runner import FileResult
from trl_lint.plain import Json
from trl_lint.reports.fingerprints import distinct
from trl_lint.reports.json import write
from trl_lint.reports.places import base_of, in_file, is_below, uri
from trl_lint.rules import find_rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The base of relative paths in the document.
BASE = "PROJECT"
FINGERPRINT = "trlLintCode/v1"

Object = dict[str, Json]


class Report(reports.Report):
    """One run with its rules and results. Nothing else is printed, so that the output is always one document."""

    needs_edits = True

    def begin(self) -> None:
        self.base = base_of(self.root)
        self.rules: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.results: list[Json] = []
        self.failures: list[Json] = []

    def show(self, result: FileResult) -> None:
        known = distinct(result)
        self.results += [self._result(*each) for each in zip(in_file(result).findings, known, strict=True)]
        if result.problem:
            self.failures.append({"level": "error", "message": {"text": plain.line(result.problem)}})

    def close(self) -> None:
        driver: Object = {"name": "trl-lint", "version": __version__, "rules": self._descriptors()}
        if findings.DOCS_URL:
            driver["informationUri"] = findings.DOCS_URL
        run: Object = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {BASE: {"uri": f"{Path(self.base).as_uri().rstrip('/')}/"}},
            "invocations": [
                {"executionSuccessful": not self.tally.problems, "toolExecutionNotifications": self.failures}
            ],
            "results": self.results,
        }
        write(self.out, {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})

    def _descriptors(self) -> list[Json]:
        return [_descriptor(code, self.names[code]) for code in self.rules]

    def _result(self, finding: Finding, fingerprint: str) -> Object:
        self.names[finding.code] = finding.name
        here = self._location(finding.path, finding.start, finding.end)
        advice = f"\nhelp: {finding.advice}" if finding.advice else ""
        return {
            "ruleId": finding.code,
            "ruleIndex": self.rules.setdefault(finding.code, len(self.rules)),
            "level": finding.severity.value,
            "message": {"text": f"{finding.message}{advice}"},
            "locations": [here],
            "relatedLocations": self._related(finding),
            "codeFlows": self._flows(finding, here),
            "fixes": self._fixes(finding.path, finding.fix) if finding.fix else [],
            "partialFingerprints": {FINGERPRINT: fingerprint},
            "properties": {"tags": [finding.consequence.value]},
        }

    def _related(self, finding: Finding) -> list[Json]:
        """The guard, the source of the value, and the other places of the same cause."""
        guard, found = finding.guard, list[Object]()
        if guard is not None:
            found.append(_saying(guard.text, self._location(guard.path, guard.start, guard.end)))
        for step in finding.because[:1]:
            if guard is None or (step.text, step.start) != (guard.text, guard.start):
                found.append(_saying(step.text, self._location(step.path, step.start)))
        for each in finding.also:
            found.append(_saying(f"{each.code}: {each.message}", self._location(each.path, each.start)))
        return [{"id": number, **each} for number, each in enumerate(found, 1)]

    def _flows(self, finding: Finding, here: Object) -> list[Json]:
        """The chain that leads to a finding, including the finding itself."""
        if not finding.because:
            return []
        steps = [_saying(each.text, self._location(each.path, each.start)) for each in finding.because]
        steps.append(_saying(finding.message, here))
        return [{"threadFlows": [{"locations": [{"location": each} for each in steps]}]}]

    def _fixes(self, path: str, fix: Fix) -> list[Json]:
        """The fix, unless it is only a hint. If it is not safe, the reason is in its description."""
        edits = () if fix.applicability is Applicability.DISPLAY else fix.edits()
        if not edits:
            return []
        unsafe = fix.applicability is Applicability.UNSAFE
        why = f" (unsafe: {fix.reason})" if unsafe else ""
        replacements: list[Json] = [
            {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}
            for edit in edits
        ]
        return [
            {
                "description": {"text": f"{fix.title}{why}"},
                "artifactChanges": [{"artifactLocation": self._artifact(path), "replacements": replacements}],
                "properties": {"applicability": fix.applicability.value},
            }
        ]

    def _location(self, path: str, start: Position, end: Position | None = None) -> Object:
        return {"physicalLocation": {"artifactLocation": self._artifact(path), "region": _region(start, end)}}

    def _artifact(self, path: str) -> Object:
        where: Object = {"uri": uri(path, self.base)}
        return {**where, "uriBaseId": BASE} if is_below(path, self.base) else where


def _descriptor(code: str, name: str) -> Object:
    """The documentation of a rule."""
    rule, about = find_rule(code), Object(id=code, name=name)
    if rule is None:
        return about
    about["shortDescription"] = {"text": rule.summary}
    about["fullDescription"] = {"text": rule.summary}
    about["help"] = {"text": rule.documentation, "markdown": rule.page}
    if findings.DOCS_URL:
        about["helpUri"] = f"{findings.DOCS_URL}rules/{name}/"
    usual = rule.consequences[0].severity.value
    about["defaultConfiguration"] = {"level": usual}
    about["properties"] = {"tags": [each.value for each in rule.consequences]}
    return about


def _saying(text: str, location: Object) -> Object:
    return {**location, "message": {"text": text}}


def _region(start: Position, end: Position | None) -> Object:
    begins: Object = {"startLine": start.line, "startColumn": start.column}
    return {**begins, "endLine": end.line, "endColumn": end.column} if end else begins

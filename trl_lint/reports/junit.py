"""JUnit XML: one suite per file, one failing test per finding."""

from __future__ import annotations

from xml.etree import ElementTree

from trl_lint import plain, reports
from trl_lint.findings import Finding
from trl_lint.linter.runner import FileResult
from trl_lint.reports.places import base_of, in_file, relative


class Report(reports.Report):
    """A file without findings is a passing test; one that could not be analysed is an error."""

    def begin(self) -> None:
        self.base = base_of(self.root)
        self.suites: list[ElementTree.Element] = []

    def show(self, result: FileResult) -> None:
        looked_into = result.relevant and result.understood and not result.passed_over
        if not (looked_into or result.problem):
            return
        path = relative(result.path, self.base)
        cases = [self._failed(each, path) for each in in_file(result).findings]
        if result.problem:
            cases.append(_case("linted", path))
            ElementTree.SubElement(cases[-1], "error", message=plain.line(result.problem))
        cases = cases or [_case("linted", path)]
        suite = ElementTree.Element("testsuite", {"name": path, **_counts(cases)})
        suite.extend(cases)
        self.suites.append(suite)

    def close(self) -> None:
        cases = [case for suite in self.suites for case in suite]
        document = ElementTree.Element("testsuites", {"name": "trl-lint", **_counts(cases)})
        document.extend(self.suites)
        ElementTree.indent(document)
        # Characters outside ASCII are written as references, so that any stream can carry them.
        print(ElementTree.tostring(document, "us-ascii", xml_declaration=True).decode("ascii"), file=self.out)

    def _failed(self, finding: Finding, path: str) -> ElementTree.Element:
        line, column = finding.start.line, finding.start.column
        # Readers treat two tests of one name as the same.
        case = _case(f"{finding.code} {finding.name} ({line}:{column})", path)
        case.set("line", str(line))
        case.set("column", str(column))
        failure = ElementTree.SubElement(case, "failure", message=plain.line(finding.message))
        failure.set("type", f"{finding.severity.value}: {finding.consequence.value}")
        lines = [f"{path}:{line}:{column}: {finding.code} {finding.headline}"]
        lines += [
            f"because: {each.text} ({relative(each.path, self.base)}:{each.start.line})" for each in finding.because
        ]
        lines += [f"help: {finding.advice}"] * bool(finding.advice)
        failure.text = "\n".join(map(plain.line, lines))
        return case


def _case(name: str, path: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", name=name, classname=path, file=path)


def _counts(cases: list[ElementTree.Element]) -> dict[str, str]:
    kinds = {"failures": "failure", "errors": "error"}
    counted = {name: sum(case.find(tag) is not None for case in cases) for name, tag in kinds.items()}
    return {name: str(count) for name, count in {"tests": len(cases), **counted}.items()}

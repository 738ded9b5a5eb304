"""All formats report the same findings: file, line, column, code and message."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from linted_fixtures import ARGUMENTS, cache_of_fixtures

from evaluation.releases import IndexUnreachable, Release, fetch
from trl_lint import reports
from trl_lint.findings import Position
from trl_lint.frontends.cli import main
from trl_lint.launch.parsers.notebook_places import CellPlaces
from trl_lint.settings import OUTPUT_FORMATS

ROOT = Path(__file__).parents[1]

Row = tuple[str, int, int, str, str]


def from_json(out: str) -> Iterator[Row]:
    yield from map(row_of, json.loads(out))


def from_json_lines(out: str) -> Iterator[Row]:
    yield from (row_of(json.loads(line)) for line in out.splitlines())


def row_of(row: dict) -> Row:
    place = row["location"]
    path = os.path.relpath(row["filename"]) + f":cell {row['cell']}" * bool(row["cell"])
    return path, place["row"], place["column"], row["code"], row["message"]


def in_file(row: Row) -> Row:
    """The place in the JSON of the notebook, for services that know nothing of cells."""
    path, _, cell = row[0].partition(":cell ")
    if not cell:
        return row
    place = CellPlaces(Path(path).read_text(encoding="utf-8")).in_file(Position(row[1], row[2], cell=int(cell)))
    return path, place.line, place.column, *row[3:]


def from_sarif(out: str) -> Iterator[Row]:
    (run,) = json.loads(out)["runs"]
    for each in run["results"]:
        (location,) = each["locations"]
        where, region = location["physicalLocation"]["artifactLocation"], location["physicalLocation"]["region"]
        assert where["uriBaseId"] in run["originalUriBaseIds"]
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
        message = each["message"]["text"].partition("\n")[0]
        yield unquote(where["uri"]), region["startLine"], region["startColumn"], each["ruleId"], message


COMMAND = re.compile(r"::(?:error|warning|notice) (?P<told>.*?)::(?P<file>.*?):(?P<row>\d+):(?P<col>\d+): (?P<said>.*)")


def from_github(out: str) -> Iterator[Row]:
    for line in out.splitlines():
        found = COMMAND.fullmatch(line)
        assert found, line
        told = {name: unquote(value) for name, _, value in (each.partition("=") for each in found["told"].split(","))}
        code, _, message = unquote(found["said"]).partition("\n")[0].partition(" ")
        assert (told["file"], told["line"]) == (found["file"], found["row"])
        assert told.get("col", found["col"]) == found["col"]
        assert ("col" in told) is ("endColumn" in told) is (told["line"] == told["endLine"])
        assert told["title"].startswith(f"{code} ")
        yield told["file"], int(told["line"]), int(found["col"]), code, message


def from_gitlab(out: str) -> Iterator[Row]:
    rows = json.loads(out)
    assert len({row["fingerprint"] for row in rows}) == len(rows)
    for row in rows:
        begin = row["location"]["positions"]["begin"]
        message = row["description"].partition(": ")[2]
        yield row["location"]["path"], begin["line"], begin["column"], row["check_name"], message


def from_junit(out: str) -> Iterator[Row]:
    document = ElementTree.fromstring(out)
    cases = list(document.iter("testcase"))
    assert [document.get(name) for name in ("tests", "errors")] == [str(len(cases)), "0"]
    failed = [case for case in cases if case.find("failure") is not None]
    assert document.get("failures") == str(len(failed))
    assert len(failed) < len(cases)
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    for case in failed:
        code = case.get("name").partition(" ")[0]
        message = case.find("failure").get("message")
        yield case.get("file"), int(case.get("line")), int(case.get("column")), code, message


LINE = re.compile(
    r"(?:(?P<file>\S.*?):| ) ?(?P<cell>cell \d+:)?(?P<row>\d+):(?P<col>\d+):? +(?P<code>TRL\d+) "
    r"(?:\[\*\] )?\[[a-z-]+\] [a-z-]+: "
    r"(?P<said>.*?)(?: \((?:and \d+ more|also TRL).*\))?"
)


def from_lines(out: str) -> Iterator[Row]:
    heading = ""
    for line in out.splitlines():
        found = LINE.fullmatch(line)
        if found:
            path = (found["file"] or heading) + f":{found['cell']}".rstrip(":") * bool(found["cell"])
            yield path, int(found["row"]), int(found["col"]), found["code"], found["said"]
        elif line.endswith(":"):
            heading = line[:-1]


READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    "json-lines": from_json_lines,
    "sarif": from_sarif,
    "github": from_github,
    "gitlab": from_gitlab,
    "junit": from_junit,
    "concise": from_lines,
    "grouped": from_lines,
    "text": from_lines,
}


# The formats that other programs read, with the lines of the file.
OF_SERVICES = frozenset({"sarif", "github", "gitlab", "junit"})


def test_every_format_is_compared():
    assert sorted({*READERS, "json"}) == sorted(OUTPUT_FORMATS)


@pytest.fixture(autouse=True)
def _one_analysis(monkeypatch):
    """Paths are relative to the current folder, and all formats look up what the first one has analysed."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "TRL_LINT_NO_CACHE", "TRL_LINT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(reports.Report, "needs_edits", True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """The cache for all formats."""
    return tmp_path_factory.mktemp("cache")


ALL_OF_IT = ("--isolated", "--select=ALL", ".")


def said(output_format: str, kept: Path, asked: tuple[str, ...]) -> str:
    """The report on the current folder, or on what is asked for, from a separate run."""
    done = CliRunner().invoke(main, [f"--cache-dir={kept}", f"--output-format={output_format}", *asked])
    assert done.exit_code == 1
    return done.stdout


@cache
def known(kept: Path, asked: tuple[str, ...]) -> list[Row]:
    """The same findings from JSON."""
    return list(from_json(said("json", kept, asked)))


def agreed(output_format: str, kept: Path, asked: tuple[str, ...] = ALL_OF_IT) -> list[Row]:
    """The findings that a format reports, which are those of JSON."""
    found = list(READERS[output_format](said(output_format, kept, asked)))
    assert found == [in_file(row) if output_format in OF_SERVICES else row for row in known(kept, asked)]
    return found


@pytest.mark.parametrize("output_format", READERS)
def test_the_fixtures(monkeypatch, tmp_path_factory, output_format):
    monkeypatch.chdir(ROOT)
    found = agreed(output_format, cache_of_fixtures(tmp_path_factory), ARGUMENTS)
    assert len(found) > 100
    assert any(".ipynb" in path for path, *_ in found)


@pytest.mark.parametrize("output_format", READERS)
def test_findings_about_comments(monkeypatch, kept, output_format):
    """They are only reported in a run on a whole project."""
    project = kept / "project"
    if not project.exists():
        shutil.copytree(ROOT / "fixtures" / "unused_noqa" / "comments", project)
    monkeypatch.chdir(project)
    assert {code for *_, code, _ in agreed(output_format, kept / "comments")} >= {"TRL900"}


@pytest.mark.slow
@pytest.mark.index
@pytest.mark.parametrize("output_format", READERS)
def test_a_release(monkeypatch, kept, output_format):
    try:
        monkeypatch.chdir(fetch(Release("trl", "0.13.0")))
    except IndexUnreachable as error:
        pytest.skip(str(error))
    found = agreed(output_format, kept / "trl")
    assert len(found) > 40

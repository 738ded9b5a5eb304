"""How the history benchmark matches findings with places."""

from dataclasses import replace

import pytest

from evaluation import history
from evaluation.common import symbol_at, symbols
from evaluation.history import Verdict, alarms_at, alarms_in, found_at, summary
from evaluation.releases import IndexUnreachable, Release, fetch
from trl_lint import api
from trl_lint.findings import Finding, Position
from trl_lint.settings import Settings


def finding(line: int, end: int | None = None, code: str = "TRL003") -> Finding:
    return Finding(code, "name", "message", "file.py", Position(line, 5), Position(end or line, 9))


SOURCE = """
class Trainer:
    @property
    def first(self):
        return 1

    def second(self):
        def nested():
            return 2
        return nested
"""


@pytest.mark.parametrize(("line", "expected"), [(9, False), (10, True), (11, True), (12, True), (13, False)])
def test_a_site_is_found_where_a_finding_starts_or_covers_it(line, expected):
    assert found_at([finding(10, 12)], line) is expected


def test_an_alarm_is_a_finding_that_starts_on_the_line():
    assert alarms_at([finding(10, 12)], 10)
    assert not alarms_at([finding(10, 12)], 11)


def test_alarms_in_a_function_count_from_its_first_line_to_its_last():
    inside, outside = finding(8), finding(5)
    assert alarms_in([inside, outside], symbols(SOURCE)["Trainer.second"]) == [inside]


@pytest.mark.parametrize(
    ("line", "symbol"),
    [
        (1, "<module>"),
        (2, "Trainer"),
        (3, "Trainer.first"),
        (9, "Trainer.second.nested"),
        (10, "Trainer.second"),
    ],
)
def test_symbol_at(line, symbol):
    assert symbol_at(SOURCE, line) == symbol


def test_the_summary_counts_by_rule_and_group():
    verdicts = [
        Verdict("site", "TRL003", "a", True, True),
        Verdict("site", "TRL003", "b", False, False),
        Verdict("look-alike", "TRL003", "c", True, False),
    ]
    heading, row = summary(verdicts, ["TRL003"]).splitlines()
    assert heading.split("  ")[0] == "rule"
    assert row.split() == ["TRL003", "1/2", "1/2", "0/0", "1/1", "0/0", "0/0"]


class FakeProject:
    """A release in which every line of `lines` has a finding."""

    def __init__(self, lines: list[int], by_default: bool = True) -> None:
        self.lines, self.by_default = lines, by_default

    def findings(self, file: str, rule: str) -> list[Finding]:
        return [replace(finding(line), by_default=self.by_default) for line in self.lines]

    def text(self, file: str) -> bytes:
        return SOURCE.encode()

    def has(self, file: str) -> bool:
        return True


def case(kept: list[int]) -> dict:
    return {
        "id": "X",
        "rule": "TRL003",
        "static": "yes",
        "buggy_release": "1",
        "fixed_release": "2",
        "fixed_side": {"same_line_text_still_present_for_sites": kept},
        "sites": [{"file": "a.py", "line": 8, "symbol": "Trainer.second", "expr": ""}],
    }


@pytest.mark.parametrize(("kept", "group"), [([], "mended"), ([8], "mended-kept")])
def test_a_case_gives_its_sites_and_its_mended_functions(monkeypatch, kept, group):
    projects = {"1": FakeProject([8]), "2": FakeProject([9])}
    monkeypatch.setattr(history, "project", lambda version, package: projects[version])
    site, mended = history.judge_case(case(kept), {}, {})
    assert (site.group, site.found, site.right) == ("site", True, True)
    assert (mended.group, mended.found, mended.right) == (group, True, False)


def test_a_miss_carries_its_noted_cause(monkeypatch):
    monkeypatch.setattr(history, "project", lambda version, package="trl": FakeProject([]))
    site, _ = history.judge_case(case([]), {}, {"X:8": "the base is out of sight"})
    assert (site.right, site.note) == (False, "the base is out of sight")


@pytest.mark.parametrize(("lines", "found"), [([8], True), ([20], True), ([21], False)])
def test_a_site_may_be_told_where_its_value_is_used(monkeypatch, lines, found):
    monkeypatch.setattr(history, "project", lambda version, package="trl": FakeProject(lines))
    entry = case([])
    entry["sites"][0]["told_at"] = 20
    site, _ = history.judge_case(entry, {}, {})
    assert site.found is found
    assert site.place.endswith("a.py:8" if lines != [20] else "a.py:20")


@pytest.mark.parametrize(
    ("expected", "lines", "by_default", "code", "said"),
    [
        (None, [8], True, 0, ""),
        (None, [8], False, 1, "worse than expected:\n   TRL003 X 1 a.py:8: asked for, expected by default"),
        (None, [], True, 1, "worse than expected:\n   TRL003 X 1 a.py:8: missed, expected by default"),
        ("asked for", [8], False, 0, ""),
        ("asked for", [], True, 1, "worse than expected:\n   TRL003 X 1 a.py:8: missed, expected asked for"),
        ("missed", [], True, 0, ""),
        ("missed", [8], False, 0, "may expect more:\n   TRL003 X 1 a.py:8: asked for, expected missed"),
    ],
)
def test_a_site_has_to_do_as_well_as_its_case_expects(
    monkeypatch, capsys, expected, lines, by_default, code, said
) -> None:
    entry = case([])
    entry["fixed_release"] = None
    if expected:
        entry["sites"][0]["expected"] = expected
    release = FakeProject(lines, by_default=by_default)
    monkeypatch.setattr(history, "project", lambda version, package: release)
    verdicts = list(history.judge_case(entry, {}, {}))
    monkeypatch.setattr(history, "judge_all", lambda rules, cases: verdicts)
    assert history.main(["--rules", "TRL003"]) == code
    shown = capsys.readouterr().out.strip()
    assert shown.endswith(said) if said else "expected" not in shown


def test_an_alarm_on_right_code_fails(monkeypatch, capsys):
    alarm = Verdict("look-alike", "TRL003", "c", True, False)
    monkeypatch.setattr(history, "judge_all", lambda rules, cases: [alarm])
    assert history.main([]) == 1


def test_the_data_is_whole():
    for entry in history.load("trl_cases.json"):
        assert entry["sites"] or not entry["scored"], entry["id"]
        assert entry["static"] in {"yes", "partial", "no"}
        assert all(history.expected_of(site) in history.Outcome for site in entry["sites"])
    ids = {entry["id"] for entry in history.load("trl_cases.json")}
    assert {row["id"] for row in history.load("rebuilds.json")} <= ids


def test_the_cases_of_other_code_bases_name_their_package_and_report():
    for entry in history.load("other_cases.json"):
        assert entry["package"] != "trl"
        assert entry["url"].startswith("https://")
        assert entry["sites"]
        assert entry["static"] in {"yes", "partial"}


@pytest.mark.index
@pytest.mark.parametrize(
    "names",
    [("orpo",), pytest.param(("cpo", "dpo", "orpo"), marks=pytest.mark.slow)],
    ids=lambda names: f"{len(names)} of them",
)
def test_the_metrics_of_rank_0_are_found_unasked(names):
    """The scripts of a release, and what they show of their own launch, say nothing about its trainers."""
    try:
        release = fetch(Release("trl", "0.13.0"))
    except IndexUnreachable as error:
        pytest.skip(str(error))
    trainers = [release / "trl" / "trainer" / f"{name}_trainer.py" for name in names]
    found = [each for each in api.check(trainers, Settings(root=release)) if each.code == "TRL003"]
    assert {each.path for each in found} == set(map(str, trainers))
    assert len(found) >= 10 * len(names)

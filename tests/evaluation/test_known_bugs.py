"""How known bugs of other code bases are counted as found, missed or out of scope, for a repository created here."""

import json

import pytest

from code_base import FILE, METRIC, REPOSITORY
from evaluation import checkouts, known_bugs
from evaluation.checkouts import Checkout, NotToBeHad
from evaluation.foreign import Reported
from evaluation.known_bugs import Bug, Recall, by_cause, read_cases
from trl_lint import api
from trl_lint.api import LintError
from trl_lint.rules import all_rules

CHECKOUT = Checkout(REPOSITORY, "0" * 40)


def bug(*lines: tuple[int, int], rules: tuple[str, ...] = ("TRL003",), cause: str = "") -> Bug:
    return Bug(CHECKOUT, "train.py", lines or ((METRIC, METRIC),), rules, True, "https://…", "wrong", cause=cause)


def reported(line: int, end: int | None = None, rule: str = "TRL003", file: str = "train.py") -> Reported:
    return Reported(REPOSITORY, file, line, end or line, rule, "…", "…")


@pytest.fixture
def tell(tmp_path, checkout, monkeypatch):
    """Use bugs, given as (line, rule, further fields), instead of those of the table."""

    def write(*bugs: tuple[int, str, dict[str, object]]) -> None:
        rows = [
            {"file": "train.py", "lines": [[line, line]], "rules": rule.split(), "scope": True}
            | {"source": "https://example.org/fix", "what": "it goes wrong"}
            | more
            for line, rule, more in bugs
        ]
        table = tmp_path / "known_bugs.json"
        table.write_text(json.dumps([{"repository": checkout.repository, "commit": checkout.commit, "bugs": rows}]))
        monkeypatch.setattr(known_bugs, "read_cases", lambda: read_cases(table))

    return write


def test_all_are_found(tell, mirrors, capsys):
    tell((METRIC, "TRL003", {}), (FILE, "TRL012 TRL008", {}))
    assert known_bugs.main(["--mirrors", str(mirrors)]) == 0
    shown = capsys.readouterr().out
    assert "TRL003  1/1" in shown
    assert "TRL012  1/1" in shown  # by the first rule that may report it
    assert "all     2/2" in shown
    assert "train.py" not in shown


def test_a_file_that_can_not_be_linted_is_told(tell, mirrors, monkeypatch, capsys):
    def check(tree, settings):
        raise LintError([f"{tree}/train.py: internal error: no parser"], [])

    monkeypatch.setattr(api, "check", check)
    tell((METRIC, "TRL003", {}))
    known_bugs.main(["--mirrors", str(mirrors)])
    assert "train.py: internal error: no parser" in capsys.readouterr().out.splitlines()[0]


def test_a_bug_that_is_not_found_fails(tell, mirrors, capsys):
    tell((METRIC, "TRL003", {}), (FILE, "TRL006", {}))
    assert known_bugs.main(["--mirrors", str(mirrors)]) == 1
    shown = capsys.readouterr().out
    assert "TRL006  0/1" in shown
    assert "missed, 1: not looked into" in shown
    assert f"train.py:{FILE} (TRL006): it goes wrong" in shown


def test_a_miss_with_a_cause_is_as_it_should_be(tell, mirrors, capsys):
    tell((FILE, "TRL006", {"cause": "another class", "miss": "the model is handed to it"}))
    assert known_bugs.main(["--mirrors", str(mirrors)]) == 0
    shown = capsys.readouterr().out
    assert "missed, 1: another class" in shown
    assert f"train.py:{FILE} (TRL006): the model is handed to it" in shown


def test_a_cause_that_is_gone_is_said(tell, mirrors, capsys):
    tell((METRIC, "TRL003", {"cause": "another class"}))
    assert known_bugs.main(["--mirrors", str(mirrors)]) == 0
    assert "found by now, with a cause in the table: " in capsys.readouterr().out


def test_what_no_rule_claims_is_listed_and_not_counted(tell, mirrors, capsys):
    outside = {"scope": False, "why": "no rule counts steps"}
    tell((METRIC, "TRL003", {}), (FILE, "", outside), (FILE, "TRL008", outside))
    assert known_bugs.main(["--mirrors", str(mirrors)]) == 0
    shown = capsys.readouterr().out
    assert "all     1/1    2" in shown
    assert f"train.py:{FILE} (no rule): no rule counts steps" in shown


def test_a_code_base_that_can_not_be_had_is_skipped_with_the_reason(tell, tmp_path, monkeypatch, capsys):
    tell((METRIC, "TRL003", {}))

    def refuse(_):
        raise NotToBeHad("no such host")

    monkeypatch.setattr(checkouts, "_clone", refuse)
    assert known_bugs.main(["--mirrors", str(tmp_path / "empty")]) == 2
    assert "no such host" in capsys.readouterr().out


def test_only_some_code_bases(tell, mirrors, capsys):
    tell((METRIC, "TRL003", {}))
    assert known_bugs.main(["--mirrors", str(mirrors), "--only", "somebody"]) == 0
    assert known_bugs.main(["--mirrors", str(mirrors), "--only", "elsewhere"]) == 2
    assert "no code base has `elsewhere` in its name" in capsys.readouterr().err


def test_all_of_it_as_json(tell, mirrors, capsys):
    tell((METRIC, "TRL003", {}), (FILE, "TRL006", {"cause": "another class"}))
    known_bugs.main(["--mirrors", str(mirrors), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert [each["lines"] for each in said["found"]] == [[[METRIC, METRIC]]]
    assert [each["cause"] for each in said["missed"]] == ["another class"]


@pytest.mark.parametrize(
    "finding, is_it",
    [
        (reported(8), True),
        (reported(7, 9), True),
        (reported(20, 21), True),
        (reported(9), False),
        (reported(8, rule="TRL006"), False),
        (reported(8, file="other.py"), False),
    ],
)
def test_a_bug_is_said_by_a_finding_of_its_rule_on_its_lines(finding, is_it):
    assert bug((8, 8), (20, 30)).is_said_by(finding) is is_it


def test_misses_are_shown_by_cause_the_most_frequent_first():
    one, two, three = bug(cause="a"), bug(cause="b"), bug(cause="b")
    assert by_cause([one, two, three]) == [("b", [two, three]), ("a", [one])]


def test_nothing_is_found_and_nothing_missed_of_nothing():
    assert known_bugs.rows(Recall()) == [("rule", "found", "out of scope"), ("all", "", "")]


def test_the_table_is_well_formed():
    cases = read_cases()
    names = [(each.repository.lower(), each.commit) for each in cases]
    assert names == sorted(set(names))
    assert all(len(commit) == 40 for _, commit in names)
    codes = {rule.code for rule in all_rules()}
    for bugs in cases.values():
        assert [(each.file, each.lines) for each in bugs] == sorted((each.file, each.lines) for each in bugs)
        for each in bugs:
            assert all(0 < first <= last for first, last in each.lines)
            assert codes.issuperset(each.rules)
            assert each.source.startswith("https://github.com/")
            assert each.what and "\n" not in each.what
            assert bool(each.rules) if each.scope else each.why and not each.cause
            assert bool(each.miss) <= bool(each.cause)


def test_no_code_base_makes_up_the_table():
    """So that recall on it applies to code in general."""
    bugs = [each for rows in read_cases().values() for each in rows]
    repositories = {each.checkout.repository for each in bugs}
    assert max(sum(each.checkout.repository == name for each in bugs) for name in repositories) <= len(bugs) / 12
    assert sum(each.scope for each in bugs) >= 60

"""How the launches benchmark compares findings with verdicts."""

import json
from collections import Counter

import pytest

from evaluation import launches
from evaluation.launches import Outcome, counts, gone, holds, judged, report, unjudged

ROWS = [
    {"package": "demo 1", "file": "README.md", "lines": [3, 9], "verdict": "real", "why": "…"},
    {"package": "demo 1", "file": "run.sh", "lines": [1], "verdict": "false", "why": "…"},
    {"package": "other 2", "file": "run.sh", "lines": [1], "verdict": "debatable", "why": "…"},
]


class Tree:
    """A release unpacked in a folder."""

    def __init__(self, root):
        self.root = root

    def __str__(self):
        return "demo 1"


@pytest.fixture
def outcome(tmp_path) -> Outcome:
    """The result of linting a small project, with launches in lines 3 and 6 of its README."""
    (tmp_path / "train.py").write_text("from trl import SFTTrainer\nSFTTrainer('x').train()\n")
    fence = "```bash\npython train.py{}\n```\n"
    (tmp_path / "README.md").write_text("# Demo\n" + "".join(fence.format(each) for each in ("", " --again")))
    (tmp_path / "data.json").write_text('["python train.py"]')
    return launches.lint(Tree(tmp_path))


def test_a_release_is_linted_as_one_project(outcome):
    assert outcome.files == 1
    assert outcome.texts == {
        ("demo 1", "README.md", 3): "python train.py",
        ("demo 1", "README.md", 6): "python train.py --again",
    }


def test_findings_are_counted_by_verdict(outcome):
    assert counts(outcome, judged(ROWS)) == Counter(real=1, unjudged=1)
    heading, row, total = report([outcome], judged(ROWS)).splitlines()
    assert heading.split() == ["package", "files", "findings", "real", "debatable", "false", "unjudged"]
    assert row.split() == ["demo", "1", "1", "2", "1", "0", "0", "1"]
    assert total.split() == ["all", "1", "2", "1", "0", "0", "1"]


def test_what_is_not_judged_is_shown_with_its_text(outcome):
    first, *rest = unjudged([outcome], judged(ROWS))
    assert first.startswith("demo 1 README.md:6: python train.py --again\n")
    assert rest[0].endswith("train.py:2: it trains with `SFTTrainer`")


def test_a_judged_line_without_a_finding_is_told_in_the_releases_looked_at(outcome):
    assert gone([outcome], judged(ROWS)) == [("demo 1", "README.md", 9), ("demo 1", "run.sh", 1)]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"real": 19, "false": 1}, True),
        ({"real": 18, "false": 1}, False),
        ({"debatable": 20, "false": 1}, True),
        ({"real": 100, "unjudged": 1}, False),
        ({}, True),
    ],
)
def test_one_false_alarm_in_twenty_is_borne(numbers, expected):
    assert holds(Counter(numbers)) is expected


def test_the_data_is_whole():
    rows = json.loads(launches.CASES.read_text(encoding="utf-8"))
    packages = {str(corpus) for corpus in launches.LAUNCHES}
    for row in rows:
        assert row["package"] in packages
        assert row["verdict"] in launches.VERDICTS
        assert row["why"].strip()
        assert row["lines"] == sorted(set(row["lines"]))
    assert len(judged(rows)) == sum(len(row["lines"]) for row in rows)

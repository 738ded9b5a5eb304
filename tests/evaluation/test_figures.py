"""The tables of figures in the documentation against the data that they are made from."""

import pytest

from evaluation import figures

PAGES = sorted(figures.DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_have_the_figures_of_the_data(page):
    """If it fails: `python -m evaluation.figures`."""
    text = page.read_text(encoding="utf-8")
    assert figures.with_figures(text) == text


def test_every_table_is_on_a_page():
    written = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in figures.TABLES if written.count(f"<!-- figures: {name} -->") != 1] == []


def test_a_table_replaces_what_stands_there(monkeypatch):
    monkeypatch.setattr(figures, "TABLES", {"one": lambda: "| new |"})
    empty = "<!-- figures: one -->\n\n<!-- end of figures -->"
    page = f"above\n{empty}\nbetween\n<!-- figures: one -->\n| old |\n\n| x |\n<!-- end of figures -->\nbelow\n"
    table = "<!-- figures: one -->\n\n| new |\n\n<!-- end of figures -->"
    assert figures.with_figures(page) == f"above\n{table}\nbetween\n{table}\nbelow\n"


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError):
        figures.with_figures("<!-- figures: gone -->\n\n<!-- end of figures -->")


def test_figures_of_runs_add_up(monkeypatch):
    known = {"places": 10, "real": 3, "minor": 2, "debatable": 4, "false": 1}
    listed = [{"run": run, "default": known, "code_bases": [{}] * 5} for run in range(45, 57)]
    monkeypatch.setattr(figures, "runs", lambda: listed)
    assert figures.groups_table().splitlines()[2:] == [
        "| 45 to 54 | 50 | 100 | 30 | 20 | 40 | 10 (10 %) | 50 % |",
        "| 55 to 56 | 10 | 20 | 6 | 4 | 8 | 2 (10 %) | 50 % |",
        "| 45 to 56 | 60 | 120 | 36 | 24 | 48 | 12 (10 %) | 50 % |",
    ]


def test_what_is_not_known_of_a_run_is_left_out(monkeypatch):
    monkeypatch.setattr(figures, "runs", lambda: [{"run": 1, "every_rule": {"places": 7}, "code_bases": []}])
    assert figures.every_rule_table().splitlines()[2:] == ["| 1 | 0 | 7 | n/a | n/a | n/a | n/a |"]
    assert figures.default_table().splitlines()[2:] == []


def test_figures_of_known_bugs_add_up(monkeypatch):
    one = {"table": "1", "about": "", "bugs": None, "code_bases": 4, "in_scope": 8, "found": 2}
    two = {"table": "2", "about": "few", "bugs": 9, "code_bases": 6, "in_scope": 4, "found": 4, "by_default": 3}
    two |= {"found_after": 4, "by_default_after": 4, "by_rule": {"TRL003": [1, 1], "others": [3, 3]}}
    monkeypatch.setattr(figures, "tables_of_bugs", lambda: [one, two])
    assert figures.recall_groups_table().splitlines()[2:] == ["| 1 to 2 | 10 | 12 | 6 (50 %) |"] * 2
    assert figures.recall_table().splitlines()[2:] == [
        "| 1 |  | n/a, 4 | 8 | 2 (25 %) | n/a |",
        "| 2 | few | 9, 6 | 4 | 4 (100 %), by default 3 | 4 (100 %), by default 4 |",
    ]
    assert figures.recall_by_rule_table().splitlines()[2:] == ["| 2 | 1/1 | 3/3 |", "| all | 1/1 | 3/3 |"]

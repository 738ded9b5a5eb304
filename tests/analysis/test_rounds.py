"""How often loops and methods are run: again only if a changed value is read."""

from __future__ import annotations

from collections import Counter
from textwrap import indent

import pytest

from trl_lint.analysis.interpreter.control_flow import loops
from trl_lint.analysis.interprocedural.entry_points import Engine
from trl_lint.analysis.interprocedural.summaries import Runs
from trl_lint.analysis.program.project.project import Project


def analysed(folder, text):
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    project = Project((folder,))
    return Engine(project).analyse(project.module(path))


# --- loops ----------------------------------------------------------------------------------------------


@pytest.fixture
def rounds(monkeypatch):
    """How often each loop was run, by its node."""
    found: Counter[int] = Counter()
    run = loops._run_once

    def counted(frame, node, *args):
        found[id(node)] += 1
        return run(frame, node, *args)

    monkeypatch.setattr(loops, "_run_once", counted)
    return found


LOOP = """\
from elsewhere import model


def f(loader, other, a, b):
    items, rows, last, both = [], {{}}, 0, {{}}
{before}
    for batch in loader:
{body}
    return items, rows, last
"""


def rounds_of(tmp_path, rounds, body, before=""):
    analysed(tmp_path, LOOP.format(before=indent(before, " " * 4), body=indent(body, " " * 8)))
    assert len(rounds) == 1
    return max(rounds.values())


@pytest.mark.parametrize(
    "body",
    [
        "items.append(model(batch))",
        "items.extend(model(batch))",
        "rows[batch.index] = model(batch)",
        "rows['loss'] = last = model(batch)",
        "last = model(batch)\nitems.append(last)",
        "last, a = model(batch)\nitems.append(last + a)",
        "last = model(batch)\nif last > 3:\n    items.append(last)",
        "fresh = []\nfresh.append(batch)\nitems.append(len(fresh))",
    ],
)
def test_what_a_loop_only_adds_to_or_binds_takes_no_other_round(tmp_path, rounds, body):
    assert rounds_of(tmp_path, rounds, body) == 1


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("items.append(model(batch))\nif len(items) > 3:\n    model(items)", ""),
        ("model(items)\nitems.append(model(batch))", ""),
        ("items.append(model(items))", ""),
        ("rows[len(rows)] = model(batch)", ""),
        ("a = items.append(batch)\nmodel(rows['x'])\nrows['x'] = batch.mean()", ""),
        ("model(last)\nlast = batch", ""),
        ("if batch:\n    last = model(batch)\nmodel(last)", ""),
        ("last += batch.mean()", ""),
        # It is read under another name, through a container, or in a function.
        ("items.append(batch.mean())\nmodel(alias)", "alias = items"),
        ("items.append(batch.mean())\nmodel(both)", "both['items'] = items"),
        ("items.append(batch.mean())\nmodel(pair)", "pair = (items, 1)"),
        ("items.append(batch.mean())\ncount()", "def count():\n    return len(items)"),
        ("last = batch.mean()\ncount()", "def count():\n    return last"),
        ("items.append(batch.mean())\nadd(batch)", "add = items.append"),
    ],
)
def test_what_a_loop_looks_at_takes_another_round(tmp_path, rounds, body, before):
    assert rounds_of(tmp_path, rounds, body, before) > 1


NESTED = """\
from elsewhere import model


def f(loader, steps):
    def made(value):
        return {"all": [value]}

    last = None
    while steps > 3:
        for batch in loader:
            last = made(batch)
            for each in [last]:
                model(each)
            steps -= 1
        model(last)
"""
GROWING = """\
from elsewhere import model


def made(value, other):
    return {"value": value, "other": other}


def f(loader):
    last = None
    for batch in loader:
        last = made(last, batch)
        model(last)
"""


@pytest.mark.parametrize(("text", "most"), [(NESTED, 4), (GROWING, 2)])
def test_what_a_function_creates_again_is_nothing_new(tmp_path, rounds, text, most):
    analysed(tmp_path, text)
    assert max(rounds.values()) <= most


# --- methods --------------------------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch):
    """How often each function is run."""
    found: Counter[str] = Counter()
    run = Runs._run

    def counted(self, function, *args):
        found[function.name] += 1
        return run(self, function, *args)

    monkeypatch.setattr(Runs, "_run", counted)
    return found


CLASS = """\
from elsewhere import unknown


class Meter:
    def __init__(self):
        self.values = []
{made}

    def add(self, value):
{add}

    def mean(self):
        return unknown(self.values)
"""


def class_of(made="self.size = len(self.values)", add="self.values.append(value)"):
    return CLASS.format(made=indent(made, " " * 8), add=indent(add, " " * 8))


def test_what_others_do_to_what_an_init_makes_is_no_news_to_it(tmp_path, runs):
    analysed(tmp_path, class_of("for value in self.values:\n    unknown(value)"))
    assert runs["__init__"] == 1


def test_what_an_init_leaves_it_has_not_found(tmp_path, runs):
    made = "self.size = None if unknown() else self.size\nself.size = unknown(self.size)\nself.size = 3"
    analysed(tmp_path, class_of(made))
    assert runs["__init__"] == 1


def test_a_method_finds_what_it_left_before(tmp_path, runs):
    analysed(tmp_path, class_of("self.size = 0", "self.size = unknown(self.size, value)"))
    assert runs["__init__"] == 1 < runs["add"]

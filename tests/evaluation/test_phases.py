"""Which time the profile by phase charges to which phase."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import phases
from bench.phases import REST, Clock, lines_of

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_a_phase_is_charged_what_it_takes_itself():
    times = iter([0, 1, 3, 6, 10, 15])
    clock = Clock(lambda: next(times))
    outer = clock.timed(lambda: clock.timed(lambda: None, "inner")(), lambda: "outer")
    outer()
    clock.switch()
    assert clock.spent == {REST: 1 + 5, "outer": 2 + 4, "inner": 3}


def test_a_phase_ends_with_an_error():
    clock = Clock(iter(range(20)).__next__)
    with pytest.raises(ZeroDivisionError):
        clock.timed(lambda: 1 // 0, "inner")()
    clock.switch()
    assert clock.spent == {REST: 2, "inner": 1}


def test_all_of_a_lint_is_in_some_phase():
    folder = FIXTURES / "unreduced_metric"
    files = sorted(folder.glob("broken*.py"))
    spent = phases.of_tree(SimpleNamespace(root=folder, files=files))
    assert {"filter", "parse", "bodies of modules", "first runs", "rules", "places and plans", REST} <= spent.keys()
    assert spent["first runs"] > 0 and spent["parse"] > 0


def test_what_is_printed():
    rows = lines_of({"trl": {"parse": 3.0, "rules": 1.0}, "verl": {"rules": 6.0}})
    assert rows == [
        ("phase", "trl", "verl"),
        ("rules", "1.00 (25%)", "6.00 (100%)"),
        ("parse", "3.00 (75%)", "0.00 (0%)"),
        ("all", "4.00", "6.00"),
    ]

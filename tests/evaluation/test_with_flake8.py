"""How the benchmark of the plugin evaluates its measurements."""

from __future__ import annotations

import pytest

from bench import with_flake8
from bench.with_flake8 import CASES, Cost

COSTS = {"without": Cost(10, 20), "cold": Cost(30, 50), "warm": Cost(11, 21)}


@pytest.mark.parametrize(
    ("warm", "code"), [(Cost(11, 21), 0), (Cost(15, 30), 0), (Cost(15.1, 21), 1), (Cost(11, 30.1), 1)]
)
def test_the_limits_hold_for_both_warm_ratios(monkeypatch, capsys, warm, code):
    monkeypatch.setattr(with_flake8, "costs", lambda case, runs, jobs: COSTS | {"warm": warm})
    monkeypatch.setattr(with_flake8, "plugins", lambda script: "trl-lint" * ("metadata" not in script))
    assert CASES[0].limit == 1.5
    assert with_flake8.main(["--only=trl"]) == code
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [row[3:] for row in rows[:2]] == [
        ["without", "10.00", "20.00"],
        ["cold", "30.00", "50.00", "3.000", "2.500"],
    ]
    assert rows[2][3] == "warm"
    assert rows[2][-1] == "1.5"

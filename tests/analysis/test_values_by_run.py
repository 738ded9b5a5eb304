"""What runs of methods leave in an attribute: its join is that of all of them, and costs one join for each."""

from __future__ import annotations

from functools import reduce

import pytest

from trl_lint.analysis.program.project import assigned_values
from trl_lint.analysis.program.project.assigned_values import ValuesByRun
from trl_lint.domain import ranks
from trl_lint.domain.equality import same_facts
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import NumberValue, TensorValue
from trl_lint.domain.values import BOTTOM, UNKNOWN, Value

SAME, LOCAL, NUMBER = Value(ranks.SAME), TensorValue(ranks.LOCAL_MEAN), NumberValue(ranks.SAME)


@pytest.mark.parametrize(
    "written",
    [
        [("a", LOCAL)],
        [("a", LOCAL), ("b", LOCAL), ("c", NUMBER)],
        [("a", SAME), ("b", LOCAL), ("a", LOCAL)],
        [("a", SAME), ("b", UNKNOWN), ("b", SAME), ("c", LOCAL)],
        [("a", UNKNOWN), ("b", LOCAL), ("c", SAME), ("a", LOCAL), ("b", BOTTOM)],
    ],
)
def test_the_join_is_that_of_all_in_their_order(written: list[tuple[str, Value]]) -> None:
    values = ValuesByRun()
    for writer, value in written:
        merged = values.join_with(writer, value)
        assert same_facts(merged, reduce(join, values.values(), BOTTOM))


def test_after_a_method_has_changed_its_values_come_last() -> None:
    values = ValuesByRun()
    for writer, value in [((1, "x"), SAME), ((2, "x"), LOCAL), ((1, "y"), NUMBER)]:
        values.join_with(writer, value)
    values.move(1, 3)
    assert list(values) == [(2, "x"), (3, "x"), (3, "y")]
    assert same_facts(values.join_with((3, "y"), UNKNOWN), reduce(join, [LOCAL, SAME, UNKNOWN], BOTTOM))


def test_each_run_costs_one_join(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(*values: Value) -> Value:
        nonlocal calls
        calls += 1
        return join(*values)

    monkeypatch.setattr(assigned_values, "join", counted)
    values = ValuesByRun()
    for writer in range(500):
        values.join_with(writer, TensorValue(ranks.LOCAL_MEAN))
    assert calls == 500
    values.join_with(200, TensorValue(ranks.LOCAL_MEAN))  # the joins with the later ones are the same as before
    assert calls == 501

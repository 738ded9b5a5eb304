"""Which parameter an argument is for, and what a call passes for a parameter."""

from __future__ import annotations

import libcst as cst
import pytest

from trl_lint.analysis.program.project.passed_arguments import argument_at


@pytest.mark.parametrize(
    ("call", "place", "passed"),
    [
        ("f(1, 2)", 1, "2"),
        ("f(1, k=2)", 1, "2"),
        ("f(1, 2)", None, None),
        ("f(1, k=2)", None, "2"),
        ("f(1)", 1, None),
        ("f(*a, 2)", 1, None),
        ("f(1, 2, **b)", 1, None),
    ],
)
def test_argument_at(call, place, passed):
    found = argument_at(cst.ensure_type(cst.parse_expression(call), cst.Call), place, "k")
    assert (None if found is None else cst.Module([]).code_for_node(found)) == passed

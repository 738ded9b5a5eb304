"""A `try` that only makes a float of what is a number: no rank gets to its `except` clauses.

    for name, value in metrics.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            reduced[name] = value             for what is no number: a loss is never kept as it is
            continue
        reduced[name] = average(number)

Where it is not known that the value is a number, a rank may get there.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Kind

_FLOAT = "builtins.float"


def is_one(frame: Frame, body: cst.BaseSuite) -> bool:
    """Whether the body of a `try` is nothing but such a conversion."""
    made = _made(body)
    if not isinstance(made, cst.Call) or len(made.args) != 1 or not isinstance(made.func, cst.Name):
        return False
    converted = made.args[0]
    if converted.star or converted.keyword is not None or not isinstance(converted.value, cst.Name):
        return False
    if library_name_of(frame.engine.evaluate(frame, made.func)) != _FLOAT:
        return False
    value = frame.engine.evaluate(frame, converted.value)
    is_number = value.kind is Kind.NUMBER or (value.kind is Kind.TENSOR and value.scalar)
    return is_number and value.absence is None


def _made(body: cst.BaseSuite) -> cst.BaseExpression | None:
    """What the only statement of a body binds to a name, or returns."""
    match body.body:
        case [cst.SimpleStatementLine(body=[cst.Return(value=made)])]:
            return made
        case [cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=made)])]:
            return made
    return None

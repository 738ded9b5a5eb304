"""A `try` in whose body nothing can fail where several processes run: no rank gets to its `except` clauses.

    for name, value in metrics.items():
        try:
            number = float(value)             a number makes a float
        except (TypeError, ValueError):
            reduced[name] = value             for what is no number: a loss is never kept as it is
            continue
        reduced[name] = average(number)

    try:
        size = int(os.environ["WORLD_SIZE"])  a launcher sets it, to a number
    except KeyError:
        size = 1

Where it is not known that the value is a number, a rank may get there.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.launcher_texts import is_of_launcher
from trl_lint.analysis.program.syntax import identifiers
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.values import Kind
from trl_lint.knowledge.launcher_variables import READ_ENVIRONMENT

_FLOAT, _INT = "builtins.float", "builtins.int"


def is_one(frame: Frame, body: cst.BaseSuite) -> bool:
    """Whether the body of a `try` is nothing but such conversions."""
    made = list(_made(body))
    return bool(made) and all(each is not None and _is_sure(frame, each) for each in made)


def _is_sure(frame: Frame, made: cst.BaseExpression) -> bool:
    """Whether an expression makes a number of what is one, or of the text of a variable that a launcher sets."""
    if not isinstance(made, cst.Call) or len(made.args) != 1 or not isinstance(made.func, cst.Name):
        return False
    converted = made.args[0]
    if converted.star or converted.keyword is not None:
        return False
    function = library_name_of(frame.engine.evaluate(frame, made.func))
    if function == _INT:
        return _is_of_launcher(frame, converted.value)
    if function != _FLOAT or not isinstance(converted.value, cst.Name):
        return False
    value = frame.engine.evaluate(frame, converted.value)
    is_number = value.kind is Kind.NUMBER or (value.kind is Kind.TENSOR and value.scalar)
    return is_number and value.absence is None


def _is_of_launcher(frame: Frame, text: cst.BaseExpression) -> bool:
    """Whether an expression is such a text: a name, or the read of the variable itself."""
    is_read = isinstance(text, (cst.Call, cst.Subscript)) and not READ_ENVIRONMENT.isdisjoint(identifiers(text))
    return (is_read or isinstance(text, cst.Name)) and is_of_launcher(frame.engine.evaluate(frame, text))


def _made(body: cst.BaseSuite) -> Iterator[cst.BaseExpression | None]:
    """What each statement of a body binds to a name, or returns; None for any other statement."""
    for line in body.body:
        match line:
            case cst.SimpleStatementLine(body=[cst.Return(value=made)]):
                yield made
            case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=made)]):
                yield made
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple())], value=cst.Tuple(elements=several))]
            ):
                yield from (each.value for each in several)
            case _:
                yield None

"""Ways out of a function that reduces, taken before it does so, where there is nothing to reduce or nobody to ask.

For example:

    def average(values, world_size, group):
        if not values or world_size == 1:
            return values                     empty, or of the only process: no rank's own, whatever else is returned
        if group is None:
            return values                     the collective below needs it: there is one process
        if values["loss"] > 3:
            return values                     this rank's own
        flat = torch.tensor(list(values.values()))
        dist.all_reduce(flat, group=group)
        return dict(zip(values, flat.tolist()))
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import truth
from trl_lint.analysis.interpreter.conditions.emptiness_tests import measured
from trl_lint.analysis.program.idioms.path_conditions import alternatives
from trl_lint.analysis.program.syntax import ancestors, assigned_once, below, is_literal_none, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import Memory
from trl_lint.domain.sync_points import UNSEEN
from trl_lint.domain.values import Kind, Value

# How a number of elements, or of processes, is compared.
_IS_NONE_LEFT = {(cst.Equal, "0"), (cst.LessThan, "1"), (cst.LessThanEqual, "0")}
_IS_ONE = {(cst.Equal, "1"), (cst.LessThan, "2"), (cst.LessThanEqual, "1")}


def ways_that_reduce(frame: Frame) -> list[tuple[Value, Memory]]:
    """What a function returns, and its state there, without the ways on which it has nothing to reduce.

    They are kept if there are no others, or if the function exchanges nothing between ranks.
    """
    ways = frame.returned
    returns = [each for each in frame.exits if isinstance(each, cst.Return)]
    # The last way may be the end of the body.
    if len(ways) < 2 or len(ways) - len(returns) not in (0, 1) or not _exchanges(frame):
        return ways
    is_early = [_has_nothing(frame, each) for each in returns]
    is_early += [False] * (len(ways) - len(returns))
    return ways if all(is_early) else [way for way, early in zip(ways, is_early, strict=True) if not early]


def _exchanges(frame: Frame) -> bool:
    return any(point.kind != "barrier" and point.kind not in UNSEEN for point in frame.sync_points)


def _has_nothing(frame: Frame, leaving: cst.Return) -> bool:
    """Whether a function is left here where there is nothing to reduce, or one process, and does nothing else then."""
    around = [each for each in ancestors(frame.root, leaving) if not isinstance(each, cst.BaseSuite)]
    match around[-2:]:
        case [cst.If(orelse=None, body=cst.IndentedBlock(body=body)) as branch, cst.SimpleStatementLine() as line] if (
            line is body[-1] and all(map(_only_tells, body[:-1]))
        ):
            return all(_excludes_reduction(frame, each, leaving) for each in alternatives(branch.test))
    return False


def _only_tells(line: cst.BaseStatement) -> bool:
    """Whether a line assigns nothing: it may log a warning."""
    return isinstance(line, cst.SimpleStatementLine) and all(isinstance(each, cst.Expr) for each in line.body)


def _excludes_reduction(frame: Frame, test: cst.CSTNode, leaving: cst.Return) -> bool:
    """Whether a test, if it is true, says that nothing is there, or that there is one process; or it is not true."""
    value = frame.value_of(test)
    if truth(frame, value) is False:
        return True
    if value.rank.is_by_rank:
        return False
    lacked = _lacked_in(frame, test)
    if lacked is not None and _is_part_of(frame, lacked, leaving.value):
        return True
    return _says_alone(frame, test)


def _lacked_in(frame: Frame, test: cst.CSTNode) -> cst.CSTNode | None:
    """What is empty, or None, if a test is true: the `rows` of `not rows`, `len(rows) == 0` and `rows is None`."""
    lacked: cst.CSTNode | None = None
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            lacked = measured(inner) or inner
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, cst.Integer(number))]):
            lacked = measured(left) if (type(operator), number) in _IS_NONE_LEFT else None
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Is(), other)]) if is_literal_none(other):
            lacked = left
    if not isinstance(lacked, (cst.Name, cst.Attribute)):
        return None
    return None if frame.value_of(lacked).kind is Kind.NUMBER else lacked


def _is_part_of(frame: Frame, lacked: cst.CSTNode, result: cst.BaseExpression | None) -> bool:
    """Whether a result has nothing in it where something is empty: it is made of that, or that is made of it."""
    if result is None or is_literal_none(result) or _is_empty(result):
        return True
    if any(each.deep_equals(lacked) for each in _read_in(result)):
        return True
    made = assigned_once(frame.root, lacked.value) if isinstance(lacked, cst.Name) else None
    return made is not None and any(each.deep_equals(other) for each in _read_in(made) for other in _read_in(result))


def _is_empty(result: cst.BaseExpression) -> bool:
    return isinstance(result, (cst.Dict, cst.List, cst.Tuple)) and not result.elements


def _read_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names and attributes in an expression, but not what it calls."""
    called = {id(each.func) for each in of_class(node, cst.Call) if isinstance(each.func, cst.Name)}
    for each in below(node):
        if isinstance(each, (cst.Name, cst.Attribute)) and id(each) not in called:
            yield each


def _says_alone(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a test, by its names, is true for one process only, or where the group of a collective is missing."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=(cst.Name() | cst.Attribute() | cst.Call()) as asked):
            return job_flags.asks_for_several(asked)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, cst.Integer(number))]):
            is_open = frame.value_of(left).const is MISSING  # a 1 is given for one process
            return is_open and (type(operator), number) in _IS_ONE and job_flags.asks_for_several(left)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Is(), other)]) if is_literal_none(other):
            return _is_group(frame, left)
    return False


def _is_group(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the function passes something as the group of a collective."""
    given = (arg for call in of_class(frame.root, cst.Call) for arg in call.args if arg.keyword is not None)
    return any(
        arg.keyword is not None and arg.keyword.value == "group" and arg.value.deep_equals(node) for arg in given
    )

"""Conditions by which the iteration differs between ranks, but not how often they hold.

For example, where `last` and `first` are each rank's own:

    for i in range(steps):
        if i == last: loss.backward()                       once on each rank
        if i >= first and i < first + 2: loss.backward()    twice on each rank
        if first <= i < first + 2: loss.backward()          the same
        if i >= first: loss.backward()                      as often as is left

The second and the third do so twice even if `steps` is each rank's own, as long as it is large enough.

If `total` is a multiple of the number of processes, all ranks make equally many steps of that size, each from its own
rank on:

    done = 0
    while done + rank < total:
        loss.backward()
        done += world_size
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import libcst as cst

from trl_lint.analysis.program.idioms.even_shares import is_multiple, is_multiple_on
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import LOOPS, assignments, innermost, inwards, last_name, names_in, of_class
from trl_lint.domain.constants import ONE_PROCESS_FIRST, WORLD_SIZE
from trl_lint.domain.numbers import single_process_value
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import WORLD_FIELD

_FROM = (cst.GreaterThan, cst.GreaterThanEqual)
_TO = (cst.LessThan, cst.LessThanEqual)
# Not in torch_ops: Python functions that number the iterations of a loop.
_COUNT, _NUMBER = "range", "enumerate"


def loop_of_turns(root: cst.CSTNode, test: cst.CSTNode, differs: Callable[[cst.CSTNode], bool]) -> cst.For | None:
    """The loop in which a condition on its counter holds equally often on each rank; None if that is not known.

    root: the function (or module) of the condition. differs: whether a part of the condition differs between ranks.
    """
    loop = innermost(root, test, *LOOPS)
    counter = _counter(loop) if isinstance(loop, cst.For) else ""
    if not isinstance(loop, cst.For) or not counter:
        return None
    return loop if _holds_once(test, counter) or _holds_in_window(test, counter, differs) else None


def is_limited_in(
    root: cst.CSTNode, loop: cst.CSTNode, node: cst.CSTNode, differs: Callable[[cst.CSTNode], bool]
) -> bool:
    """Whether a place in a loop is reached equally often on each rank, however many iterations each of them makes."""
    return any(
        isinstance(outer, cst.If)
        and inner is outer.body
        and loop_of_turns(root, outer.test, differs) is loop
        and not _excludes_one(outer.test)
        for outer, inner in inwards(root, node)
    )


def steps_by_processes(
    root: cst.CSTNode, cls: ClassInfo | None, test: cst.CSTNode, values: Mapping[int, Value]
) -> bool:
    """Whether a condition is that of a loop in which each rank goes from its own number on in steps of that of all.

    values: what the analysis knows of the expressions, by their ids.
    """
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.LessThan(), total)]):
            loop = next((each for each in of_class(root, cst.While) if each.test is test), None)
        case _:
            return False
    step = None if loop is None else _step_of(loop)
    if step is None or not _is_number_of_processes(step.value, values):
        return False
    return _starts_at_rank(root, left, step, values) and _is_multiple_of(root, cls, total, step.value)


def _step_of(loop: cst.While) -> cst.AugAssign | None:
    """What each iteration of a loop adds to a number in its condition that nothing else in the loop changes."""
    added = [each for each in of_class(loop.body, cst.AugAssign) if _is_part_of(each.target, loop.test)]
    assigned = any(_is_part_of(target, loop.test) for target, _ in assignments(loop.body))
    always = [part for line in loop.body.body if isinstance(line, cst.SimpleStatementLine) for part in line.body]
    is_one = len(added) == 1 and not assigned and any(added[0] is each for each in always)
    return added[0] if is_one and isinstance(added[0].operator, cst.AddAssign) else None


def _is_part_of(target: cst.BaseExpression, test: cst.CSTNode) -> bool:
    return any(target.deep_equals(part) for part in of_class(test, type(target)))


def _is_number_of_processes(number: cst.BaseExpression, values: Mapping[int, Value]) -> bool:
    value = values.get(id(number))
    is_known = value is not None and (value.const is WORLD_SIZE or WORLD_FIELD.fits(last_name(number)))
    return is_known and not _differs(number, values)


def _starts_at_rank(
    root: cst.CSTNode, compared: cst.BaseExpression, step: cst.AugAssign, values: Mapping[int, Value]
) -> bool:
    """Whether `counter + rank` is compared, for a counter that all ranks share, or one that has the rank at first."""
    match compared:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            starts = [each for each in (left, right) if not each.deep_equals(step.target)]
            if any(_differs(each, values) for each in (left, right) if each not in starts):
                return False
        case _:
            starts = [value for target, value in assignments(root) if target.deep_equals(step.target)]
    return len(starts) == 1 and _is_rank(starts[0], values)


def _differs(number: cst.BaseExpression, values: Mapping[int, Value]) -> bool:
    value = values.get(id(number))
    return value is not None and value.rank.differs


def _is_rank(number: cst.BaseExpression, values: Mapping[int, Value]) -> bool:
    value = values.get(id(number))
    is_whole = not isinstance(number, cst.BinaryOperation)
    return is_whole and value is not None and value.rank.is_by_rank and single_process_value(value) is ONE_PROCESS_FIRST


def _is_multiple_of(
    root: cst.CSTNode, cls: ClassInfo | None, total: cst.BaseExpression, of: cst.BaseExpression
) -> bool:
    if cls is not None and isinstance(total, cst.Attribute) and isinstance(of, cst.Attribute):
        return is_multiple_on(cls, total, of)
    return is_multiple(root, total, of)


def _counter(loop: cst.For) -> str:
    """The name of the number of the iteration; "" if there is none."""
    called = last_name(loop.iter.func) if isinstance(loop.iter, cst.Call) else ""
    match loop.target:
        case cst.Name(name) if called == _COUNT:
            return name
        case cst.Tuple(elements=[cst.Element(value=cst.Name(name)), *_]) if called == _NUMBER:
            return name
    return ""


def _holds_once(test: cst.CSTNode, counter: str) -> bool:
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal() | cst.NotEqual(), right)]):
            sides = (left, right)
            others = [each for each in sides if not (isinstance(each, cst.Name) and each.value == counter)]
            return len(others) == 1 and counter not in names_in(others[0])
    return False


def _excludes_one(test: cst.BaseExpression) -> bool:
    """`i != last`, which holds in all other iterations."""
    return isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.NotEqual)


def _holds_in_window(test: cst.CSTNode, counter: str, differs: Callable[[cst.CSTNode], bool]) -> bool:
    """Whether it is `first <= counter < first + number`, or says the same in two parts, with one number for all."""
    match test:
        case cst.BooleanOperation(
            left=cst.Comparison(left=cst.Name(name), comparisons=[cst.ComparisonTarget(start, first)]),
            operator=cst.And(),
            right=cst.Comparison(left=cst.Name(same), comparisons=[cst.ComparisonTarget(stop, end)]),
        ) if name == same == counter and isinstance(start, _FROM) and isinstance(stop, _TO):
            return _is_further(first, end, differs)
        case cst.Comparison(
            left=first, comparisons=[cst.ComparisonTarget(start, cst.Name(name)), cst.ComparisonTarget(stop, end)]
        ) if name == counter and isinstance(start, _TO) and isinstance(stop, _TO):
            return _is_further(first, end, differs)
    return False


def _is_further(first: cst.BaseExpression, end: cst.BaseExpression, differs: Callable[[cst.CSTNode], bool]) -> bool:
    """Whether the end is the start plus a number that is the same on all ranks."""
    match end:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=number):
            return left.deep_equals(first) and not differs(number)
    return False

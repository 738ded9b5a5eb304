"""Conditions by which the iteration differs between ranks, but not how often they hold.

For example, where `last` and `first` are each rank's own:

    for i in range(steps):
        if i == last: loss.backward()                       once on each rank
        if i >= first and i < first + 2: loss.backward()    twice on each rank
        if first <= i < first + 2: loss.backward()          the same
        if i >= first: loss.backward()                      as often as is left

The second and the third do so twice even if `steps` is each rank's own, as long as it is large enough.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, inwards, last_name, names_in

_FROM = (cst.GreaterThan, cst.GreaterThanEqual)
_TO = (cst.LessThan, cst.LessThanEqual)
# Not in torch_ops: Python functions that number the iterations of a loop.
_COUNT, _NUMBER = "range", "enumerate"


def loop_of_turns(root: cst.CSTNode, test: cst.CSTNode, differs: Callable[[cst.CSTNode], bool]) -> cst.For | None:
    """The loop in which a condition on its counter holds equally often on each rank; None if that is not known.

    root: the function (or module) of the condition. differs: whether a part of the condition differs between ranks.
    """
    loop = next((each for each in reversed(ancestors(root, test)) if isinstance(each, (cst.For, cst.While))), None)
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

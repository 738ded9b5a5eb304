"""Loops over a rank's own rows that need not end with them: as often as on the other ranks, whatever their number.

Each of these loops makes as many steps on all ranks:

    while step < steps:                        starts the rows over until all steps are done, and the ranks meet
        for row in own_rows:                   nowhere but at these steps
            loss.backward()
            step += 1
    for i, row in enumerate(own_rows):
        if i == most: break                    if all have that many
    for i, row in enumerate(own_rows):
        if i < fewest: dist.barrier()
    for row in own_rows:
        if all_have(True) < world_size: break  a rank that has no rows left tells the others, who leave
    else:
        all_have(False)

These do not:

    for epoch in range(epochs):                as many epochs, with another number of steps in each
        for row in own_rows: loss.backward()
    for i, row in enumerate(own_rows):
        if most is not None and i == most: break       a setting that is not always there
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.blocks import exits_of_loop
from trl_lint.analysis.program.syntax import ancestors, below, is_literal_none, names_in, of_class, value_names


def may_be_cut(root: cst.CSTNode, rows: cst.CSTNode, place: cst.CSTNode, met: Iterable[cst.CSTNode]) -> bool:
    """Whether a loop over these rows is started over by another one, or left after a number of steps.

    place: where ranks meet in it, perhaps in the first steps only. met: where the function synchronises with others.
    """
    loop = next((each for each in of_class(root, cst.For) if each.iter is rows), None)
    if loop is None:
        return False
    if _is_started_over(root, loop, met) or _is_in_first_steps(loop, place) or _is_answered(loop, met):
        return True
    return any(_is_count(root, loop, each) for each in exits_of_loop(root, loop))


def _is_started_over(root: cst.CSTNode, loop: cst.For, met: Iterable[cst.CSTNode]) -> bool:
    inside = {id(each) for each in below(loop.body)}
    outer = next((each for each in ancestors(root, loop) if isinstance(each, cst.While)), None)
    within = set() if outer is None else {id(each) for each in below(outer)}
    return outer is not None and all(id(each) in inside for each in met if id(each) in within)


def _is_answered(loop: cst.For, met: Iterable[cst.CSTNode]) -> bool:
    """Whether a rank that has gone through its rows meets those that have one more."""
    after = set() if loop.orelse is None else {id(each) for each in below(loop.orelse)}
    return any(id(each) in after for each in met)


def _is_in_first_steps(loop: cst.For, place: cst.CSTNode) -> bool:
    """Whether a place is reached where a number that the loop counts is below another one, or equal to it."""
    counters = {each for each in _counters(loop) if each}
    tests = (each.test for each in ancestors(loop, place) if isinstance(each, cst.If))
    return any(
        isinstance(each, cst.Comparison)
        and isinstance(each.left, cst.Name)
        and each.left.value in counters
        and isinstance(each.comparisons[0].operator, (cst.Equal, cst.LessThan, cst.LessThanEqual))
        for test in tests
        for each in _parts(test)
    )


def _is_count(root: cst.CSTNode, loop: cst.For, leaving: cst.CSTNode) -> bool:
    """Whether a loop is left where a number that it counts has a certain value."""
    around = [each for each in ancestors(loop, leaving) if isinstance(each, cst.If)]
    if not around:
        return False
    parts = list(_parts(around[-1].test))
    counters = {each for each in _counters(loop) if each}
    counted = [each for each in parts if isinstance(each, cst.Comparison) and not counters.isdisjoint(names_in(each))]
    return len(around) == 1 and bool(counted) and not any(_asks_for_setting(each) for each in parts)


def _parts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation):
        yield from (*_parts(test.left), *_parts(test.right))
    else:
        yield test


def _counters(loop: cst.For) -> Iterator[str]:
    """The names of what a loop counts: in `enumerate`, or up by one in its body."""
    match loop:
        case cst.For(target=cst.Tuple(elements=[cst.Element(value=cst.Name(name)), *_])):
            yield name
    for each in of_class(loop.body, cst.AugAssign):
        match each.target:
            case cst.Attribute(attr=cst.Name(name)):
                yield name
            case target:
                yield from (part.value for part in value_names(target))


def _asks_for_setting(test: cst.BaseExpression) -> bool:
    """`most is not None`, `most > 0`, `most`: a number that is not always there."""
    match test:
        case cst.Name() | cst.Attribute():
            return True
        case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.IsNot(), comparator=other)]):
            return is_literal_none(other)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.GreaterThan() | cst.NotEqual(), cst.Integer("0"))]):
            return True
    return False

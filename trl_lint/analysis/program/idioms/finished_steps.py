"""Training loops that end after a number of finished steps: a batch that some ranks skip is made up for by later ones.

For example:

    while step < steps:
        for batch in loader:
            if batch["mask"].sum() == 0:
                continue                   this rank takes its next batch, and the others wait for it as ever
            loss = model(batch)
            loss.backward()
            step += 1                      the same number of passes on each rank
            if step >= steps: return

Not if ranks may leave by anything else than the number of steps, or meet at places that do not follow these steps: in
each epoch, at a certain batch, or before they skip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.blocks import exits_of_loop
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    below,
    innermost,
    of_class,
    precedes,
    used_names,
    value_names,
)

_Loop = cst.For | cst.While
_ORDERS = (cst.Equal, cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual, cst.NotEqual)


def are_made_up_for(
    root: cst.CSTNode,
    leaving: Sequence[cst.CSTNode],
    met: Iterable[cst.CSTNode],
    raised_by: Callable[[cst.Call], str] = lambda call: "",
) -> bool:
    """Whether ranks that leave a branch by these statements still meet the others equally often, in the same order.

    They start a loop over, or have finished all steps. met: where the function synchronises with other ranks.
    raised_by: which number of an object a call of its method counts, `state.step`; "" if it is none.
    """
    loop = innermost(root, leaving[0], *LOOPS) if leaving else None
    if loop is None or any(innermost(root, each, *LOOPS) is not loop for each in leaving):
        return False
    ways = [each for each in of_class(loop.body, cst.Continue) if innermost(root, each, *LOOPS) is loop]
    skips = [each for each in ways if each is leaving[-1] or precedes(root, each, leaving[-1])]
    points = list(met)
    around = (each for each in (*ancestors(root, loop), loop) if isinstance(each, cst.While))
    return bool(skips) and any(
        _counts_finished(root, each, loop, skips[-1], leaving, points, raised_by) for each in around
    )


def _counts_finished(
    root: cst.CSTNode,
    outer: cst.While,
    loop: _Loop,
    skip: cst.Continue,
    leaving: Sequence[cst.CSTNode],
    met: Sequence[cst.CSTNode],
    raised_by: Callable[[cst.Call], str],
) -> bool:
    """Whether a loop ends by a number that only grows with what ranks do in the loop in it after a place."""
    inside = {id(each) for each in below(outer)}
    points = [each for each in met if id(each) in inside]
    names = list(bindings(outer))
    for count, counter in _counted(outer, loop, names, raised_by):
        if _tests_after(root, loop, skip, count) != []:
            continue
        changing = {each.value for each in names} - {counter}
        exits = [each for each in leaving if not isinstance(each, cst.Continue)]
        if (
            all(_follows_steps(root, loop, skip, each, changing) for each in points)
            and all(_is_under_count(outer, each, counter, changing) for each in exits)
            and not _may_skip(root, loop, points, count)
            and _ends_by(root, outer, counter, changing)
        ):
            return True
    return False


def _counted(
    outer: cst.While, loop: _Loop, names: Sequence[cst.Name], raised_by: Callable[[cst.Call], str]
) -> Iterator[tuple[cst.CSTNode, str]]:
    """Where a loop counts, and with which number, if nothing else in the loops changes that."""
    bound = [each.value for each in names]
    for count in of_class(loop.body, cst.AugAssign):
        target, is_added = count.target, isinstance(count.operator, cst.AddAssign)
        if isinstance(target, cst.Name) and is_added and bound.count(target.value) == 1:
            yield count, target.value
    calls = of_class(outer, cst.Call)
    passed = {each.value.value for call in calls for each in call.args if isinstance(each.value, cst.Name)}
    changed = passed.union(bound)
    raised = [(each, counter) for each in calls if (counter := raised_by(each))]
    counters = [counter for _, counter in raised]
    yield from (
        (call, counter)
        for call, counter in raised
        if counters.count(counter) == 1 and counter.partition(".")[0] not in changed
    )


def _follows_steps(root: cst.CSTNode, loop: _Loop, skip: cst.Continue, place: cst.CSTNode, changing: set[str]) -> bool:
    """Whether a place is reached with each finished step, or with some of them, the same ones on all ranks."""
    tests = _tests_after(root, loop, skip, place)
    return tests is not None and not any(used_names(each) & changing for each in tests)


def _tests_after(
    root: cst.CSTNode, loop: _Loop, skip: cst.Continue, place: cst.CSTNode
) -> list[cst.BaseExpression] | None:
    """The conditions under which ranks that do not skip get to a place; None if it is not behind the skip."""
    if innermost(root, place, *LOOPS) is not loop or not precedes(root, skip, place):
        return None
    around = ancestors(loop, skip)
    return [each.test for each in ancestors(loop, place) if isinstance(each, cst.If) and each not in around]


def _may_skip(root: cst.CSTNode, loop: _Loop, points: Sequence[cst.CSTNode], count: cst.CSTNode) -> bool:
    """Whether a step may be left between a place where ranks meet and the one where it is counted."""
    ways = (each for each in below(loop.body) if isinstance(each, (cst.Break, cst.Continue)))
    return any(
        precedes(root, point, way) and precedes(root, way, count) and innermost(root, way, *LOOPS) is loop
        for way in ways
        for point in points
    )


def _ends_by(root: cst.CSTNode, outer: cst.While, counter: str, changing: set[str]) -> bool:
    """Whether ranks leave a loop only by comparing a counter with what does not change in it."""
    exits = exits_of_loop(root, outer)
    if not all(_is_under_count(outer, each, counter, changing) for each in exits):
        return False
    match outer.test:
        case cst.Name("True") | cst.Integer("1"):
            return bool(exits)
        case cst.Name(flag):
            cleared = [each for each in bindings(outer) if each.value == flag]
            return bool(cleared) and all(
                _is_false(outer, each) and _is_under_count(outer, each, counter, changing) for each in cleared
            )
    return _compares(outer.test, counter, changing)


def _is_under_count(outer: cst.While, node: cst.CSTNode, counter: str, changing: set[str]) -> bool:
    tests = [each.test for each in ancestors(outer, node) if isinstance(each, cst.If)]
    return bool(tests) and all(_compares(each, counter, changing) for each in tests)


def _compares(test: cst.BaseExpression, counter: str, changing: set[str]) -> bool:
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=operator)]) if isinstance(operator, _ORDERS):
            return _asks_for(test, counter) and not used_names(test) & changing
    return False


def _asks_for(test: cst.BaseExpression, counter: str) -> bool:
    owner, _, attribute = counter.rpartition(".")
    if not owner:
        return counter in used_names(test)
    read = (each for each in of_class(test, cst.Attribute) if each.attr.value == attribute)
    return any(isinstance(each.value, cst.Name) and each.value.value == owner for each in read)


def _is_false(outer: cst.While, target: cst.Name) -> bool:
    assigned = (each for each in of_class(outer, cst.Assign) if any(part.target is target for part in each.targets))
    return all(isinstance(each.value, cst.Name) and each.value.value == "False" for each in assigned)


def bindings(loop: cst.While) -> Iterator[cst.Name]:
    """The names that a loop binds, each time that it does."""
    for node in below(loop.body):
        match node:
            case (
                cst.AssignTarget(target=target)
                | cst.AnnAssign(target=target)
                | cst.AugAssign(target=target)
                | cst.For(target=target)
                | cst.CompFor(target=target)
                | cst.NamedExpr(target=target)
            ):
                yield from value_names(target)
            case cst.AsName(name=target):
                yield from value_names(target)

"""Numbers of steps: where they come from, and which loops they end.

For example:

    if args.max_steps is None:                     filled_in: a number is computed if none is given
        args.max_steps = epochs * len(loader)
    total = args.max_steps * args.accumulation     accumulation: that setting, times the second factor
    steps = args.max_steps * world_size            none: it counts the processes
    steps = epochs * len(loader)                   none: it is no setting

    step += 1
    if step >= args.max_steps: break               ends a loop that counts each step once
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    holder_name,
    identifiers,
    innermost,
    last_name,
    named_parameters,
    names_in,
    of_class,
    operands,
    parts_of_target,
    precedes,
)
from trl_lint.knowledge.heuristics import COUNTS_PROCESSES, SETTINGS_OBJECT
from trl_lint.knowledge.schedules import ACCUMULATION, LAST_OF_THEM

# How far a number is followed through names.
_DEPTH = 6
# What a step may depend on: whether the optimizer has made one (accelerate/accelerator.py).
_ASKS_FOR_STEP = frozenset({"optimizer_step_was_skipped", "step_was_skipped"})
_ROUNDS = frozenset({"ceil", "int", "round"})
Scope = cst.FunctionDef | cst.Module | cst.Lambda


class GivenSteps(NamedTuple):
    """A number of steps from a setting.

    names: those by which code calls it. accumulation: the factor with the number of accumulated batches, if there is
    one. filled_in: whether code computes it if it is not given.
    """

    names: frozenset[str]
    accumulation: cst.BaseExpression | None = None
    filled_in: bool = False


class CountedSchedule(NamedTuple):
    """A schedule of as many steps as a loop counts.

    Attributes:
        length: The number of steps, as it is passed.
        steps: What setting that is.
        scaled: The numbers to multiply by the number of processes, or whose factor for accumulation is to be replaced
            by it; empty if the code does not show all of them.
        accumulates: Whether it only makes its step with the last of some batches.
        may_be_constant: Whether it has no end by default.
        prepared, stepped: Where it is prepared, and where its step is called.
        accelerator: The text by which the Accelerator is accessible where it is made, or "".
    """

    length: cst.BaseExpression
    steps: GivenSteps
    scaled: tuple[cst.BaseExpression, ...]
    accumulates: bool
    may_be_constant: bool
    prepared: cst.Call
    stepped: cst.Call
    accelerator: str


class ReadAt(NamedTuple):
    """A place that reads a number: what is assigned before it counts. root: the function around, in its file."""

    tree: cst.Module
    root: Scope
    node: cst.CSTNode


def given_steps(place: ReadAt, number: cst.BaseExpression, depth: int = _DEPTH) -> GivenSteps | None:
    """The setting that a number of steps is; None if it counts the processes, or is anything else."""
    match number:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return _multiplied(place, left, right, depth)
        case cst.Call(func=function, args=[cst.Arg(value=inner)]) if last_name(function) in _ROUNDS:
            return given_steps(place, inner, depth)
        case cst.Name() | cst.Attribute() | cst.Subscript() if depth:
            return _read(place, number, depth)
        case cst.Integer() if depth < _DEPTH:
            return GivenSteps(frozenset())
    return None


def counts_processes(place: ReadAt, number: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether a number is computed from the number of processes, other than by dividing by it."""
    match number:
        case cst.BinaryOperation(left=left, operator=cst.Divide() | cst.FloorDivide()):
            return counts_processes(place, left, depth)
        case cst.BinaryOperation(left=left, right=right):
            return any(counts_processes(place, each, depth) for each in (left, right))
        case cst.Call(func=cst.Name("len")):
            return False
        case cst.Call(args=passed):
            called = COUNTS_PROCESSES.fits(last_name(number.func))
            return called or any(counts_processes(place, each.value, depth) for each in passed)
        case cst.IfExp(test=test, body=body, orelse=other):
            return any(counts_processes(place, each, depth) for each in (test, body, other))
        case cst.Name() | cst.Attribute():
            made = (value for _, value in _assigned(place, number)) if depth else ()
            return COUNTS_PROCESSES.fits(last_name(number)) or any(
                counts_processes(place, each, depth - 1) for each in made
            )
    return any(COUNTS_PROCESSES.fits(each) for each in identifiers(number))


def turns_of(tree: cst.Module, stepped: cst.Call) -> Iterator[cst.Call]:
    """The calls with each of which a schedule makes a step: of its own method, or of the one function that does so.

    def update(batch, schedule):
        ...
        schedule.step()
    for step in range(args.steps):
        update(next(batches), schedule)
    """
    yield stepped
    helper = innermost(tree, stepped, cst.FunctionDef)
    if helper is None or helper not in tree.body or innermost(helper, stepped, cst.If, *LOOPS) is not None:
        return
    calls = [
        each
        for each in of_class(tree, cst.Call)
        if isinstance(each.func, cst.Name) and each.func.value == helper.name.value
    ]
    if len(calls) == 1:
        yield calls[0]


def ends_loop(tree: cst.Module, steps: GivenSteps, stepped: cst.Call, *, accumulates: bool) -> bool:
    """Whether a loop in which a schedule makes a step counts the steps one by one and ends after that many.

    accumulates: whether the schedule only makes its step with the last of some batches.
    """
    loop = innermost(tree, stepped, *LOOPS)
    if loop is None or not _is_made_always(loop, stepped):
        return False
    pace = accumulates or _is_on_last(loop, stepped)
    end = _end_of_range(loop.iter) if isinstance(loop, cst.For) else None
    counted = _unaccumulated(tree, end) if end is not None and pace else end
    if counted is not None and _names(tree, tree, _without_start(tree, counted)) & steps.names:
        return True
    return any(_counts_ones(tree, each, loop, pace) for each in _counters(tree, steps.names))


def _multiplied(place: ReadAt, left: cst.BaseExpression, right: cst.BaseExpression, depth: int) -> GivenSteps | None:
    for number, factor in ((left, right), (right, left)):
        if _is_accumulation(place, factor):
            found = given_steps(place, number, depth)
            return None if found is None or found.accumulation is not None else found._replace(accumulation=factor)
    return None


def _is_accumulation(place: ReadAt, factor: cst.BaseExpression) -> bool:
    """Whether an Accelerator is created with this number of batches to accumulate, or batches are counted by it."""
    calls = of_class(place.tree, cst.Call)
    passed = [each.value for call in calls for each in call.args if each.keyword and each.keyword.value == ACCUMULATION]
    counted = [
        each.right for each in of_class(place.tree, cst.BinaryOperation) if isinstance(each.operator, cst.Modulo)
    ]
    mine = _names(place.tree, place.root, factor)
    return any(mine & _names(place.tree, place.root, each) for each in (*passed, *counted))


def _read(place: ReadAt, number: cst.BaseExpression, depth: int) -> GivenSteps | None:
    """What a name or an attribute is that is read: a setting, or what was assigned to it."""
    filled_in = False
    found: list[GivenSteps] = []
    for statement, value in _assigned(place, number):
        if counts_processes(place, value) or not isinstance(statement, (cst.Assign, cst.AnnAssign)):
            return None
        if _is_filled_in(place, number, statement):
            filled_in = True
            continue
        steps = given_steps(ReadAt(place.tree, place.root, statement), value, depth - 1)
        if steps is None:
            return None
        found.append(steps)
    if not found:
        own = frozenset({_name(number)})
        return GivenSteps(own, None, filled_in) if _is_setting(place, number) else _global(place, number, depth)
    if len({id(each.accumulation) for each in found}) > 1:
        return None
    known = frozenset({_name(number)}).union(*(each.names for each in found))
    return GivenSteps(known, found[0].accumulation, filled_in or any(each.filled_in for each in found))


def _global(place: ReadAt, number: cst.BaseExpression, depth: int) -> GivenSteps | None:
    """What a name is that the module assigns, as it is when the function is called."""
    if not isinstance(number, cst.Name) or place.root is place.tree:
        return None
    return _read(ReadAt(place.tree, place.tree, place.tree.body[-1]), number, depth)


def _is_setting(place: ReadAt, number: cst.BaseExpression) -> bool:
    """Whether something that the file does not assign is a parameter of the function, or a field of the settings."""
    if isinstance(number, cst.Name):
        return number.value in _parameters(place.root)
    holder = number.value if isinstance(number, (cst.Attribute, cst.Subscript)) else number
    known = [*identifiers(holder), holder_name(holder)]
    return bool(_name(number)) and any(SETTINGS_OBJECT.fits(each) for each in known)


def _parameters(root: Scope) -> set[str]:
    if isinstance(root, cst.Module):
        return set()
    return set(named_parameters(root.params))


def _assigned(place: ReadAt, number: cst.BaseExpression) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """The statements that assign to a name or an attribute, each with the value.

    Of its own function, only those before the place: what other functions do with an attribute may come first.
    """
    root = place.root if isinstance(number, cst.Name) else place.tree
    own = {id(each) for kind in _ASSIGNS for each in of_class(place.root, kind)}
    for kind in _ASSIGNS:
        for each in of_class(root, kind):
            targets = [target.target for target in each.targets] if isinstance(each, cst.Assign) else [each.target]
            if each.value is None or not any(
                _is_same(number, part) for one in targets for part in parts_of_target(one)
            ):
                continue
            if id(each) not in own or precedes(place.root, each, place.node):
                yield each, each.value


_ASSIGNS: tuple[type[cst.Assign] | type[cst.AnnAssign] | type[cst.AugAssign], ...] = (
    cst.Assign,
    cst.AnnAssign,
    cst.AugAssign,
)


def _is_same(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    return type(one) is type(other) and _name(one) == _name(other) and one.deep_equals(other)


def _is_filled_in(place: ReadAt, number: cst.BaseExpression, statement: cst.CSTNode) -> bool:
    """Whether a statement assigns a number only under a condition: for a name, one that asks for it."""
    for branch, _ in ifs_around(place.tree, statement):
        asked = [each for each in operands(branch.test) if isinstance(each, (cst.Name, cst.Attribute))]
        if not isinstance(number, cst.Name) or any(_is_same(number, each) for each in asked):
            return True
    return False


def _name(number: cst.CSTNode) -> str:
    """The name of a number of steps: that of an attribute or of a key begins with a dot. "" if it has none."""
    match number:
        case cst.Name(value=name):
            return name
        case cst.Attribute(attr=cst.Name(value=name)):
            return f".{name}"
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return f".{key.raw_value}"
    return ""


def _names(tree: cst.Module, root: Scope, number: cst.CSTNode) -> frozenset[str]:
    """The names of a number, and of what it is assigned from if it is only assigned in one place."""
    own = _name(number)
    names = {own} - {""}
    if isinstance(number, cst.Call) and last_name(number.func) in _ROUNDS and len(number.args) == 1:
        return _names(tree, root, number.args[0].value)
    if isinstance(number, (cst.Name, cst.Attribute)):
        values = [value for target, value in assignments(tree) if _is_same(number, target)]
        names |= {_name(each) for each in values if len(values) == 1} - {""}
    return frozenset(names)


def _is_on_last(loop: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a statement of a loop is only run with the last of the batches that are accumulated."""
    around = ancestors(loop, node)
    if any(_is_last(each.test) for each in around if isinstance(each, cst.If)):
        return True
    above = (each for each in of_class(loop, cst.If) if each not in around and precedes(loop, each, node))
    return any(_skips_others(loop, each) for each in above)


def _skips_others(loop: cst.CSTNode, branch: cst.If) -> bool:
    """Whether a branch leaves the turns that are not the last: `if not accelerator.sync_gradients: continue`."""
    ways = [each for each in of_class(branch.body, cst.Continue) if innermost(loop, each, *LOOPS) in (None, loop)]
    if not ways or innermost(loop, branch, *LOOPS) not in (None, loop):
        return False
    match branch.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=asked):
            return LAST_OF_THEM in identifiers(asked)
        case cst.Comparison(left=counted, comparisons=[cst.ComparisonTarget(operator=cst.NotEqual())]):
            return _is_last(counted)
    return False


def _is_last(test: cst.BaseExpression) -> bool:
    divided = (each.operator for each in of_class(test, cst.BinaryOperation))
    return LAST_OF_THEM in identifiers(test) or any(isinstance(each, cst.Modulo) for each in divided)


def _is_made_always(loop: cst.CSTNode, step: cst.Call) -> bool:
    """Whether a step is made in each turn of a loop in which the optimizer makes one, by the tests around it."""
    owner = last_name(step.func.value) if isinstance(step.func, cst.Attribute) else ""
    return all(
        (
            _is_last(each.test)
            or not _ASKS_FOR_STEP.isdisjoint({*identifiers(each.test)})
            or owner in names_in(each.test)
        )
        for each in ancestors(loop, step)
        if isinstance(each, cst.If)
    )


def _end_of_range(iterated: cst.BaseExpression) -> cst.BaseExpression | None:
    """The end of the `range` that a loop goes through, also in a progress bar."""
    ranges = [each for each in of_class(iterated, cst.Call) if last_name(each.func) == "range"]
    return ranges[0].args[min(1, len(ranges[0].args) - 1)].value if len(ranges) == 1 and ranges[0].args else None


def _unaccumulated(tree: cst.Module, number: cst.BaseExpression) -> cst.BaseExpression | None:
    """The number of steps of which a number of batches is a multiple: `steps` of `steps * args.accumulation`."""
    match _only_value(tree, number):
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right) as product:
            place = ReadAt(tree, tree, product)
            pairs = ((left, right), (right, left))
            return next((number for number, factor in pairs if _is_accumulation(place, factor)), None)
    return None


def _without_start(tree: cst.Module, number: cst.BaseExpression) -> cst.BaseExpression:
    """All steps, if a number is what is left of them after a start: `steps` of `left = steps - start`."""
    match _only_value(tree, number):
        case cst.BinaryOperation(left=left, operator=cst.Subtract()):
            return left
    return number


def _only_value(tree: cst.Module, number: cst.BaseExpression) -> cst.BaseExpression:
    """What is assigned to a name or an attribute, if it is only assigned in one place of a file."""
    if not isinstance(number, (cst.Attribute, cst.Name)):
        return number
    values = [value for target, value in assignments(tree) if _is_same(number, target)]
    return values[0] if len(values) == 1 else number


def _counters(tree: cst.Module, names: frozenset[str]) -> Iterator[cst.BaseExpression]:
    """What is compared with a number of steps to leave a loop."""
    tests = [each.test for each in of_class(tree, cst.While)]
    tests += [each.test for each in of_class(tree, cst.If) if _leaves(each.body)]
    for outer in tests:
        for test in of_class(outer, cst.Comparison):
            if len(test.comparisons) != 1:
                continue
            sides = (test.left, test.comparisons[0].comparator)
            for counter, end in (sides, sides[::-1]):
                if _names(tree, tree, end) & names and isinstance(counter, (cst.Name, cst.Attribute)):
                    yield counter


def _leaves(block: cst.BaseSuite) -> bool:
    return bool(of_class(block, cst.Break) or of_class(block, cst.Return))


def _counts_ones(tree: cst.Module, counter: cst.BaseExpression, loop: cst.For | cst.While, pace: bool) -> bool:
    """Whether a counter grows by one with each step of a loop, and in no other way."""
    around = [each for each in ancestors(tree, loop) if isinstance(each, cst.FunctionDef)]
    root = around[-1] if around and isinstance(counter, cst.Name) else tree
    added = [each for each in of_class(root, cst.AugAssign) if _is_same(counter, each.target)]
    return bool(added) and all(
        isinstance(each.operator, cst.AddAssign)
        and isinstance(each.value, cst.Integer)
        and each.value.evaluated_value == 1
        and innermost(tree, each, *LOOPS) is loop
        and _is_on_last(loop, each) is pace
        for each in added
    )

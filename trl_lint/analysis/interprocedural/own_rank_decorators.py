"""Decorators of the project that let only some ranks run the function that they decorate.

For example:

    def on_main(f):
        def inner(*args):
            if dist.get_rank() == 0:      the condition of the only call of `f`: the first rank runs it,
                return f(*args)           and the others get None
        return inner

    def on_main(f):
        return f if dist.get_rank() == 0 else skip

    def main_first(f):
        def inner(*args):
            if not is_main: barrier()
            result = f(*args)             on all ranks, one after the other: not of some
            if is_main: barrier()
            return result
        return inner
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interpreter.calls import call_arguments
from trl_lint.analysis.interpreter.conditions.conditions import control_of_condition
from trl_lint.analysis.interprocedural.binding import bind
from trl_lint.analysis.program.blocks import exits_before
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import (
    assignments,
    callee_of,
    innermost,
    inwards,
    is_literal_none,
    last_name,
    of_class,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import absences
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import NONE
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import Collective

# The names of collectives, without their module.
_COLLECTIVES = frozenset(row.name.rpartition(".")[2] for row in library.ROWS if isinstance(row, Collective))
# Nodes in which a function may be called several times, or not on the way of those that get to the end.
_REPEATS = (cst.CompFor, cst.ExceptHandler, cst.For, cst.GeneratorExp, cst.ListComp, cst.While)
# A condition at a place, whether it is true there, and what is done instead where it does not lead there.
_Test = tuple[cst.BaseExpression, bool, cst.CSTNode | None]


class OwnDecorator(NamedTuple):
    """A decorator of the project. use: where it has the function called; outer: the function around it, if any."""

    node: cst.FunctionDef
    module: Module
    outer: Frame | None
    use: cst.Name

    @property
    def inner(self) -> cst.CSTNode:
        """The function around the use: the one that replaces the decorated function, or the decorator itself."""
        return function_around(self.node, self.use)


class OwnDivision(NamedTuple):
    """Which ranks a decorator lets run a function: those for which a test in it is true, or false (`holds`)."""

    own: OwnDecorator
    inside: Frame
    test: cst.BaseExpression
    holds: bool
    condition: Control


def division_by(frame: Frame, decorator: cst.BaseExpression) -> OwnDivision | None:
    """The condition on the rank under which a decorator runs the function of a frame, if it has one."""
    own = _own(frame, decorator)
    if own is None:
        return None
    inside = _frame_of(frame, own)
    for test, holds, other in _tests_of(own):
        condition = control_of_condition(inside, test, expressions.evaluate(inside, test))
        is_by_rank = condition.uniformity is Uniformity.DIVERGENT and condition.rank.origins == Origin.RANK
        if is_by_rank and not _may_meet(inside, other):
            return OwnDivision(own, inside, test, holds, condition)
    return None


def entered_by(frame: Frame, division: OwnDivision) -> Control:
    """The control under which the decorated function runs."""
    step = frame.step(frame.root, "its decorator runs it on some ranks only", division.condition.provenance)
    return Control(Uniformity.DIVERGENT, step, division.condition.rank)


def result_of_some(division: OwnDivision, result: Value, decorated: Control) -> Value:
    """What callers get of a function with this result, if the condition of its decorator lets in only some ranks."""
    own = division.own
    if not isinstance(own.inner, cst.FunctionDef) or own.inner is own.node:
        return UNKNOWN
    inner, name = own.inner, own.use.value
    given = [(each.value, value) for each, value in assignments(inner) if isinstance(each, cst.Name)]
    held = {target for target, value in given if any(_calls(each, name) for each in _arms(value))}
    returned = [arm for each in of_class(inner, cst.Return) for arm in _arms(each.value)]
    passed = [*returned, *(arm for target, value in given if target in held for arm in _arms(value))]
    if not all(_is_none(each) or _calls(each, name) or _is_held(each, held) for each in passed):
        return UNKNOWN
    if result.kind is Kind.NONE or all(map(_is_none, returned)):
        return NONE
    absence = absences.by_test(division.inside, division.test, division.holds, division.condition)
    return of_some(result, decorated).replace(absence=absence)


def of_some(result: Value, decorated: Control) -> Value:
    """The result of a function that only some ranks run because of its decorator: None on the others."""
    joined = join(result, NONE, decorated.rank)
    lacks_cause = joined.rank.differs and joined.provenance is None
    return joined.replace(provenance=decorated.provenance) if lacks_cause else joined


def _arms(value: cst.BaseExpression | None) -> Iterator[cst.BaseExpression | None]:
    if isinstance(value, cst.IfExp):
        yield from _arms(value.body)
        yield from _arms(value.orelse)
    else:
        yield value


def _is_none(value: cst.BaseExpression | None) -> bool:
    return value is None or is_literal_none(value)


def _is_held(value: cst.BaseExpression | None, held: set[str]) -> bool:
    return isinstance(value, cst.Name) and value.value in held


def _calls(value: cst.BaseExpression | None, name: str) -> bool:
    return isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == name


def _own(frame: Frame, decorator: cst.BaseExpression) -> OwnDecorator | None:
    """The function of the project that is given the decorated one: `@on_main`, or what `@only_on(0)` returns."""
    target = callee_of(decorator)
    value = frame.engine.settle(expressions.evaluate(frame, target))
    if not isinstance(target, (cst.Attribute, cst.Name)) or not isinstance(value, FunctionValue):
        return None
    function = value.function
    node: cst.CSTNode | None = function.node
    outer: Frame | None = function.closure
    if isinstance(decorator, cst.Call) and isinstance(node, cst.FunctionDef):
        outer = Frame(frame.engine, function.module, function, None, outer)
        outer.memory.names.update(bind(frame, function, call_arguments.evaluated(frame, decorator), None))
        node = returned_function(node)
    use = _only_use(node) if isinstance(node, cst.FunctionDef) else None
    if use is None or not isinstance(node, cst.FunctionDef):
        return None
    return OwnDecorator(node, function.module, outer, use)


def _only_use(decorator: cst.FunctionDef) -> cst.Name | None:
    """The place where a decorator calls its function in the one that it returns, or returns it; None if several do."""
    if len(decorator.params.params) != 1:
        return None
    name = decorator.params.params[0].name.value
    copied = {id(each) for inner in of_class(decorator.body, cst.Decorator) for each in of_class(inner, cst.Name)}
    uses = [each for each in of_class(decorator.body, cst.Name) if each.value == name and id(each) not in copied]
    if len(uses) != 1:
        return None
    path = [outer for outer, _ in inwards(decorator, uses[0])]
    around = function_around(decorator, uses[0])
    is_called = isinstance(path[-1], cst.Call) and path[-1].func is uses[0]
    returned = [arm for each in of_class(decorator, cst.Return) for arm in _arms(each.value)]
    if around is decorator:
        is_right = any(each is uses[0] for each in returned)
    elif isinstance(around, cst.FunctionDef):
        is_right = is_called and any(
            isinstance(each, cst.Name) and each.value == around.name.value for each in returned
        )
    else:
        is_right = is_called and any(each is around for each in returned)
    return uses[0] if is_right and not any(isinstance(each, _REPEATS) for each in path) else None


def returned_function(function: cst.CSTNode) -> cst.FunctionDef | None:
    """The nested function that a function returns, if it always returns that one."""
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        return None
    nested = {each.name.value: each for each in function.body.body if isinstance(each, cst.FunctionDef)}
    names = {
        last_name(each.value) for each in of_class(function, cst.Return) if function_around(function, each) is function
    }
    return nested.get(names.pop()) if len(names) == 1 else None


def function_around(root: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost function around a node."""
    return innermost(root, node, cst.FunctionDef, cst.Lambda) or root


def _tests_of(own: OwnDecorator) -> Iterator[_Test]:
    """The conditions on the way to the use: the branches around it, and the exits before it."""
    for outer, inner in inwards(own.node, own.use):
        match outer:
            case cst.If() | cst.IfExp() if inner is not outer.test:
                holds = inner is outer.body
                yield outer.test, holds, outer.orelse if holds else outer.body
            case cst.BooleanOperation() if inner is outer.right:
                yield outer.left, isinstance(outer.operator, cst.And), None
    for each in exits_before(own.node, own.use):
        yield each.test, False, each.body


def _frame_of(frame: Frame, own: OwnDecorator) -> Frame:
    """A frame for the conditions in a decorator: they are evaluated where the function of another frame is called."""
    inside = Frame(frame.engine, own.module, None, None, own.outer, frame.memory.control)
    inside.memory = Memory({}, frame.memory.heap, frame.memory.attributes, frame.memory.control)
    inside.objects, inside.key, inside.trace = frame.objects, frame.key, frame.trace
    inner, parameters = own.inner, () if frame.function is None else frame.function.parameters
    if isinstance(inner, cst.FunctionDef) and inner is not own.node:
        for parameter, passed in zip(inner.params.params, parameters, strict=False):
            inside.memory.names[parameter.name.value] = frame.memory.names.get(passed.name, UNKNOWN)
    for target, value in assignments(inner):
        if isinstance(target, cst.Name) and all(each is not own.use for each in of_class(value, cst.Name)):
            inside.memory.names[target.value] = expressions.evaluate(inside, value)
    return inside


def _may_meet(frame: Frame, other: cst.CSTNode | None) -> bool:
    """Whether the ranks that do not run the function may wait for the others meanwhile."""
    for call in () if other is None else of_class(other, cst.Call):
        if last_name(call.func) in _COLLECTIVES:
            return True
        if isinstance(frame.engine.settle(expressions.evaluate(frame, call.func)), FunctionValue):
            return True
    return False

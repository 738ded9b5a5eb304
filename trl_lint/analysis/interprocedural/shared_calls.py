"""Calls that all ranks make, some of them in one branch of a condition and some in the other.

For example:

    if rank == 0:
        train(model, loader, logger)      all ranks run `train`; `logger` is None on the others
    else:
        train(model, loader, None)        the counterpart of the call above

    if rank == 0:
        set_up(folder, to_file=True)      only this rank does what the flag asks for
    else:
        set_up(folder)

    if rank == 0:
        train(model, loader, after=[save])    `after` is empty on the others: only this rank calls `save`
    else:
        train(model, loader)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.interprocedural.binding import expression_of
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import ancestors, is_literal_none
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import absences
from trl_lint.domain import ranks
from trl_lint.domain.control import Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.kinds import ContainerValue, IterableValue
from trl_lint.domain.ranks import State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind, Value


class _Counterpart(NamedTuple):
    """The call in the other branch. holds: whether the first call is in the branch for a true condition."""

    branch: cst.If
    holds: bool
    call: cst.Call

    def argument(self, of_this: cst.Call, expression: cst.BaseExpression) -> cst.BaseExpression | None:
        """What the other call passes instead of an argument of this one, if they are written alike."""
        for index, each in enumerate(of_this.args):
            if each.value is expression:
                others = self.call.args
                if each.keyword is not None:
                    named = (other for other in others if other.keyword and other.keyword.value == each.keyword.value)
                    return next((other.value for other in named), None)
                if any(other.star or other.keyword for other in others[: index + 1]) or index >= len(others):
                    return None
                return others[index].value
        return None


def _counterpart_of(root: cst.CSTNode, call: cst.CSTNode) -> _Counterpart | None:
    """The call of the same function in the other branch of the innermost `if … else` around a call."""
    if not isinstance(call, cst.Call):
        return None
    around = ancestors(root, call)
    branch = next((each for each in reversed(around) if isinstance(each, cst.If)), None)
    if branch is None or not isinstance(branch.orelse, cst.Else):
        return None
    arms = (branch.body, branch.orelse.body)
    mine = next((index for index, arm in enumerate(arms) if any(each is call for each in _calls(arm))), None)
    if mine is None:
        return None
    others = (each for each in _calls(arms[1 - mine]) if each.func.deep_equals(call.func))
    return next((_Counterpart(branch, mine == 0, each) for each in others), None)


def _calls(arm: cst.BaseSuite) -> Iterator[cst.Call]:
    """The calls that are statements of a branch, or of a `with` in it, or whose result one assigns."""
    for line in arm.body:
        if isinstance(line, cst.With):
            yield from _calls(line.body)
        parts = line.body if isinstance(line, cst.SimpleStatementLine) else ()
        for part in parts:
            value = part.value if isinstance(part, (cst.Assign, cst.Expr)) else None
            if isinstance(value, cst.Call):
                yield value


def entered_by_all(
    frame: Frame,
    function: FunctionInfo,
    names: dict[str, Value],
    args: Arguments,
    node: cst.CSTNode,
    receiver: Value | None,
) -> tuple[dict[str, Value], Memory]:
    """The arguments and the state with which a function is entered, where the ranks of the other branch call it too."""
    memory = frame.memory
    other = _counterpart_of(frame.root, node) if memory.control.uniformity is Uniformity.DIVERGENT else None
    if other is None or not isinstance(node, cst.Call) or _switches(function, node, other.call):
        return names, memory
    of_branch = (each for each in memory.control.conditions if place_of(each) is other.branch.test)
    control = memory.control.without_conditions(frozenset(id(each.provenance) for each in of_branch))
    state = Memory(memory.names, memory.heap, memory.attributes, control)
    expressions = {name: expression_of(function, name, args, receiver) for name in names}
    given = {name: _lacked_by_others(frame, value, node, expressions[name], other) for name, value in names.items()}
    return {name: _empty_on_others(frame, function, name, value, other.call) for name, value in given.items()}, state


def _switches(function: FunctionInfo, call: cst.Call, other: cst.Call) -> bool:
    """Whether two calls switch a flag on and off, by which the function may do something else for each.

    A flag that one of them leaves out has its default.
    """
    for parameter in function.parameters:
        given = (argument_for(function, each, parameter.name) for each in (call, other))
        if {_flag(parameter.default if each is None else each) for each in given} == {"True", "False"}:
            return True
    return False


def _flag(expression: cst.BaseExpression | None) -> str:
    return expression.value if isinstance(expression, cst.Name) else ""


def _lacked_by_others(
    frame: Frame, value: Value, node: cst.Call, expression: cst.BaseExpression | None, other: _Counterpart
) -> Value:
    """An argument, which the ranks of the other branch lack if they pass None instead."""
    theirs = None if expression is None else other.argument(node, expression)
    if value.kind is Kind.NONE or not is_literal_none(theirs):
        return value
    absence = absences.in_branch(frame, other.branch, other.holds, node)
    return value if absence is None else value.replace(absence=absence)


def _empty_on_others(frame: Frame, function: FunctionInfo, name: str, value: Value, other: cst.Call) -> Value:
    """A list that is passed, which is empty on the ranks of the other branch if they pass an empty one, or none."""
    parameter = next((each for each in function.parameters if each.name == name), None)
    theirs = argument_for(function, other, name) or (None if parameter is None else parameter.default)
    is_empty = isinstance(theirs, (cst.List, cst.Tuple)) and not theirs.elements
    if not isinstance(value, ContainerValue) or not is_empty:
        return value
    element, length = containers.iterate(frame, value)
    return IterableValue(value.rank, element, ranks.HELD_BY_RANK if length.state is State.SAME else length)

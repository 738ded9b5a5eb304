"""Tests that a check before them decides in every run with several processes: it ends the runs that fail it.

For example:

    if is_distributed() and args.prepared is None: raise ValueError
    if args.prepared is None: …             one process: a run with several has ended, or has it
    if is_distributed():
        check(args.prepared, "missing")     the same, where `check` raises if its parameter is false
    assert args.world_size == 1 or not args.plot
    if args.plot: …                         the same
    if args.other is None: …                not known
    if args.plot:
        if is_distributed(): raise ValueError
    if args.plot: …                         one process, and so is the branch before
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import truth
from trl_lint.analysis.interpreter.conditions.refused_blocks import Evaluate, refusals_in, refuses_several
from trl_lint.analysis.program.blocks import ends_outside, last_statement
from trl_lint.analysis.program.definitions.changed_state import is_set_on_other_object, is_set_outside_any_class
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    alternatives,
    is_bound,
    is_kept,
    is_lasting,
    outcomes_of_parts,
    parts_of,
)
from trl_lint.analysis.program.idioms.path_constraints import is_implied
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.project.passed_arguments import parameter_for
from trl_lint.analysis.program.syntax import inwards, last_name, names_in, of_class, operands
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import World
from trl_lint.domain.kinds import ProjectName
from trl_lint.knowledge.python import NAMES_OF_ENDS

_CONSTANTS = frozenset({"False", "None", "True"})


def decided(frame: Frame, branch: cst.If, evaluate: Evaluate) -> bool | None:
    """The result that a test has in every run with several processes that gets past it; None if none is known.

    evaluate: gives the value of a test that has not been run yet.
    """
    if refuses_several(frame, branch, evaluate):
        return False
    test = branch.test
    for check in _checks_before(frame.root, test):
        known = list(_required(frame, check, False, evaluate))
        for outcome in (True, False) if known else ():
            if is_implied(Condition(test, outcome), known) and _lasts(frame, check, test):
                return outcome
    return None


# Asked whenever a test is run.
@tree_cache(1024)
def _checks_before(root: cst.CSTNode, test: cst.BaseExpression) -> tuple[cst.CSTNode, ...]:
    """The statements before a test, in the blocks around it, that may end the run and name what it asks for."""
    names = {last_name(each) for each in _subjects(test)}
    if not names or of_class(test, cst.Call):
        return ()
    return tuple(
        statement
        for block, inner in inwards(root, test)
        if isinstance(block, (cst.IndentedBlock, cst.Module))
        for statement in block.body[: block.body.index(inner)]
        if _may_check(statement) and not names.isdisjoint(names_in(statement))
    )


def _subjects(test: cst.BaseExpression) -> list[cst.Attribute | cst.Name]:
    """The names and attributes that a test asks for."""
    asked = [each for each in operands(test) if isinstance(each, (cst.Attribute, cst.Name))]
    return [each for each in asked if not (isinstance(each, cst.Name) and each.value in _CONSTANTS)]


def _may_check(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.If(orelse=orelse, body=body):
            return orelse is None or bool(refusals_in(body))
        case cst.SimpleStatementLine(body=[cst.Assert() | cst.Expr(value=cst.Call())]):
            return True
    return False


def _lasts(frame: Frame, check: cst.CSTNode, test: cst.BaseExpression) -> bool:
    """Whether what a test asks for is the same as where the check was made."""
    root, project = frame.root, frame.engine.project
    for each in _subjects(test):
        if not is_lasting(root, each) or not is_kept(root, each, check):
            return False
        if isinstance(each, cst.Attribute):
            name = each.attr.value
            is_of_self = isinstance(each.value, cst.Name) and each.value.value == "self"
            if is_of_self or is_set_outside_any_class(project, name) or is_set_on_other_object(project, name):
                return False
    return True


def _required(frame: Frame, statement: cst.CSTNode, where_several: bool, evaluate: Evaluate) -> Iterator[Condition]:
    """What holds after a statement in a run with several processes. where_several: no other run gets there."""
    match statement:
        case cst.If(test=test) if refuses_several(frame, statement, evaluate):
            yield from _implied(frame, Condition(test, False), True)
        case cst.If(test=test, body=body, orelse=None):
            if _is_true(frame, test):
                for inner in body.body:
                    yield from _required(frame, inner, True, evaluate)
            elif _never_goes_on(body):
                yield from _implied(frame, Condition(test, False), where_several)
        case cst.SimpleStatementLine(body=[cst.Assert(test=test)]):
            yield from _implied(frame, Condition(test, True), where_several)
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]):
            for each in _checked_by(frame, call):
                yield from _implied(frame, each, where_several)


def _implied(frame: Frame, known: Condition, where_several: bool) -> Iterator[Condition]:
    """What follows from the outcome of a test in a run with several processes, and not in one with a single one."""
    match known.test:
        case cst.UnaryOperation(operator=cst.Not(), expression=denied):
            yield from _implied(frame, Condition(denied, not known.holds), where_several)
        case cst.BooleanOperation(operator=operator):
            is_and = isinstance(operator, cst.And)
            parts = parts_of(known.test) if is_and else alternatives(known.test)
            if is_and is not known.holds:
                left = [each for each in parts if _in_several(frame, each) is not is_and]
                where_several |= len(left) < len(parts)
                parts = left if len(left) == 1 else []
            for each in parts:
                yield from _implied(frame, Condition(each, known.holds), where_several)
        case _:
            if where_several:
                yield from outcomes_of_parts(known)


def _is_true(frame: Frame, test: cst.CSTNode) -> bool:
    return _in_several(frame, test) is True


def _in_several(frame: Frame, test: cst.CSTNode) -> bool | None:
    """The outcome of a test of whether there are several processes; None for any other test."""
    value = frame.value_of(test)
    return truth(frame, value) if isinstance(value.const, World) else None


def _never_goes_on(body: cst.BaseSuite) -> bool:
    return ends_outside(body) or _ends_run(body)


def _ends_run(body: cst.BaseSuite) -> bool:
    """Whether a block ends with a `raise`, or with the end of the process."""
    match last_statement(body):
        case cst.Raise():
            return True
        case cst.Expr(value=cst.Call(func=func)):
            return last_name(func) in NAMES_OF_ENDS
    return False


def _checked_by(frame: Frame, call: cst.Call) -> Iterator[Condition]:
    """What holds of the arguments of a call if it returns: `check(args.prepared, "missing")`."""
    function = _function_called(frame, call.func)
    if function is None or function.decorators:
        return
    for arg in call.args:
        parameter = parameter_for(function, call, arg)
        outcome = None if parameter is None else _outcome_needed(function, parameter.name)
        if outcome is not None:
            yield Condition(arg.value, outcome)


def _function_called(frame: Frame, callee: cst.BaseExpression) -> FunctionInfo | None:
    """The function that a name is, or `module.name`."""
    if isinstance(callee, cst.Name):
        return function_of(frame, callee)
    if not isinstance(callee, cst.Attribute) or not isinstance(callee.value, cst.Name):
        return None
    module = frame.engine.lookup(frame, callee.value.value)
    found = frame.engine.member(module, callee.attr.value) if isinstance(module, ProjectName) else None
    value = None if found is None else frame.engine.settle(found)
    return value.function if isinstance(value, FunctionValue) else None


def _outcome_needed(function: FunctionInfo, parameter: str) -> bool | None:
    """Whether a function only returns where a parameter is true, or only where it is false; None if it is neither."""
    if not isinstance(function.node, cst.FunctionDef):
        return None
    for statement in function.node.body.body:
        match statement:
            case cst.If(test=test, body=body, orelse=None) if _ends_run(body):
                needed = outcomes_of_parts(Condition(test, False))
            case cst.SimpleStatementLine(body=[cst.Assert(test=test)]):
                needed = outcomes_of_parts(Condition(test, True))
            case _:
                needed = iter(())
        for each in needed:
            if each.test.deep_equals(cst.Name(parameter)) and not is_bound(function.node, each.test):
                return each.holds
        if of_class(statement, cst.Return):
            return None
    return None

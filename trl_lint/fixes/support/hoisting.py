"""Hoist collectives that only some ranks reach out of the condition, so that all ranks make them.

Lines that all ranks need are moved before the condition unchanged; from a line that only one rank may run, the
collective is moved and bound to a name. On one process, the same is done in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import below, last_name, used_names
from trl_lint.fixes.support.divergent_region import DivergentRegion, LeftToAuthor
from trl_lint.fixes.support.edits import FixPlan, Insert, Move, Replace
from trl_lint.fixes.support.hoistable import (
    check_bound,
    check_kept,
    check_order,
    check_removable,
    inputs_of,
    is_private,
)
from trl_lint.fixes.support.placing import base_name
from trl_lint.fixes.support.scope import binders, contains, free_name
from trl_lint.fixes.support.tree import text_of

_BEFORE = "it is called before the condition, each time the condition is reached, so that all ranks take part"
_BEHIND = "it is called after the condition, each time the condition is reached, so that all ranks take part"
_REST_OF_CONDITION = "it is called whenever the rest of the condition holds, so that all ranks take part"


def hoisted(region: DivergentRegion) -> FixPlan:
    """The plan by which all ranks make the calls of a region.

    Raises:
        LeftToAuthor: it might change what the code does.
    """
    for index, line in enumerate(region.lines):
        calls = _calls(region, line)
        if not calls:
            continue
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            raise LeftToAuthor("the call depends on more than this condition")
        _hoist(region, index, line, calls)
    inside = {id(node) for line in region.lines for node in below(line)}
    if not inside.issuperset(region.called):
        raise LeftToAuthor("ranks diverge before other calls, too")
    check_removable(region)
    if region.shared is not None:
        return FixPlan((*region.edits, region.shared), caution=_REST_OF_CONDITION)
    behind = any(isinstance(edit, Move) and edit.behind for edit in region.edits)
    return FixPlan(tuple(region.edits), caution=_BEHIND if behind else _BEFORE)


def _calls(region: DivergentRegion, line: cst.BaseStatement) -> list[cst.Call]:
    """The outermost calls in a line that all ranks have to make, in order."""
    found: list[cst.Call] = []
    for node in below(line):
        if id(node) in region.called and not any(contains(outer, node) for outer in found):
            if not isinstance(node, cst.Call):
                raise LeftToAuthor("ranks diverge before other calls, too")
            found.append(node)
    return found


def _hoist(region: DivergentRegion, index: int, line: cst.SimpleStatementLine, calls: Sequence[cst.Call]) -> None:
    """Plan how all ranks make the calls of a line."""
    only = line.body[0]
    if isinstance(only, cst.Expr) and only.value is calls[0] and region.guard is not line:
        _move_statement(region, index, line, calls[0])
        return
    if any(region.called[id(call)].kind == "barrier" for call in calls):
        raise LeftToAuthor("the call is part of a larger statement")
    for call in calls:
        check_order(region, line, call)
        _move_inputs(region, index, call)
    if isinstance(only, cst.Assign) and only.value is calls[0] and is_private(region, line):
        _move(region, line)
        return
    for call in calls:
        name = free_name(region.root, _name_for(region, call), region.names)
        region.names.add(name)
        text = text_of(call.with_changes(lpar=[], rpar=[]))
        region.edits += [Insert(region.guard, f"{name} = {text}", root=region.root), Replace(call, cst.Name(name))]


def _move_statement(region: DivergentRegion, index: int, line: cst.SimpleStatementLine, call: cst.Call) -> None:
    """Plan the move of a call whose result is unused. It keeps its order: it has to be the first or the last."""
    stay = [each for each in region.lines[:index] if not region.is_moved(each)]
    if not stay:
        _move_inputs(region, index, call)
        _move(region, line)
        return
    if region.lines[index + 1 :] or not region.ends:
        raise LeftToAuthor("it is between things that only some ranks do")
    names = used_names(call)
    if any(binders(each, names) for each in stay):
        raise LeftToAuthor("an argument is created under the condition")
    check_bound(region, names)
    _move(region, line, behind=True)


def _move_inputs(region: DivergentRegion, index: int, call: cst.Call) -> None:
    """Plan that the inputs of a call exist before the condition on all ranks, with the same values."""
    inputs = inputs_of(region, index, call)
    for line in reversed(inputs.producers):
        _move(region, line)
    check_bound(region, inputs.names)
    check_kept(region, index, call)


def _move(region: DivergentRegion, line: cst.SimpleStatementLine, behind: bool = False) -> None:
    if not isinstance(region.guard, cst.If):
        raise LeftToAuthor("the call is not on a line of its own that could be moved")
    region.edits.append(Move(line, region.guard, behind))
    region.moved.append(line)


def _name_for(region: DivergentRegion, call: cst.Call) -> str:
    """`gathered_x` for `gather(x)`, `state_dict` for `get_state_dict(…)`, `mean_loss_result` for a helper's."""
    collective = region.called[id(call)]
    name = last_name(call.func).strip("_")
    if collective.via is None and collective.kind.endswith("ed"):
        operand: cst.BaseExpression = call
        while isinstance(operand, cst.Call) and id(operand) in region.called and operand.args:
            operand = operand.args[0].value
        base = base_name(operand) if operand is not call else ""
        return f"{collective.kind}_{base}" if base else collective.kind
    return name.removeprefix("get_") if name.startswith("get_") else f"{name}_result"

"""Calls that all ranks make, some of them in one branch of a condition and some in the other.

if rank == 0:
    train(model, loader, logger)      all ranks run `train`; `logger` is None on the others
else:
    train(model, loader, None)
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interprocedural.binding import expression_of
from trl_lint.analysis.program.idioms.calls_in_both_arms import Counterpart, counterpart_of
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes import absences
from trl_lint.domain.control import Uniformity
from trl_lint.domain.heap import Memory
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind, Value


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
    other = counterpart_of(frame.root, node) if memory.control.uniformity is Uniformity.DIVERGENT else None
    if other is None or not isinstance(node, cst.Call):
        return names, memory
    of_branch = (each for each in memory.control.conditions if place_of(each) is other.branch.test)
    control = memory.control.without_conditions(frozenset(id(each.provenance) for each in of_branch))
    state = Memory(memory.names, memory.heap, memory.attributes, control)
    expressions = {name: expression_of(function, name, args, receiver) for name in names}
    return {
        name: _lacked_by_others(frame, value, node, expressions[name], other) for name, value in names.items()
    }, state


def _lacked_by_others(
    frame: Frame, value: Value, node: cst.Call, expression: cst.BaseExpression | None, other: Counterpart
) -> Value:
    """An argument, which the ranks of the other branch lack if they pass None instead."""
    theirs = None if expression is None else other.argument(node, expression)
    if value.kind is Kind.NONE or not isinstance(theirs, cst.Name) or theirs.value != "None":
        return value
    absence = absences.in_branch(frame, other.branch, other.holds, node)
    return value if absence is None else value.replace(absence=absence)

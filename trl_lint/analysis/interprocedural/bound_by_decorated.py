"""Attributes that a method binds which its decorator runs on some ranks only: the other ranks lack them.

For example:

    @rank_zero_only
    def start(self):
        self.log = open("log")      `log` is lacking on the other ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interprocedural.own_rank_decorators import division_by
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.absences import binding_of
from trl_lint.domain.absence import BY_DECORATOR, Absence, Instead
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind
from trl_lint.knowledge.python import RANK_DECORATORS


def note(frame: Frame, function: FunctionInfo, before: Control, decorated: Control) -> None:
    """Note, at the end of a method, what the ranks lack that its decorators do not let in.

    before: how it was entered. decorated: which ranks its decorators let in.
    """
    if decorated.uniformity is not Uniformity.DIVERGENT:
        return
    decorator = _dividing(frame, function)
    if decorator is None:
        return
    condition = frame.step(decorator, "`{}` runs the function on some ranks only", decorated.provenance.before)
    around = frozenset(id(place_of(each)) for each in before.conditions)
    for key in frame.objects.dirty & frame.memory.attributes.keys():
        value = frame.memory.attributes[key]
        if value.kind is Kind.NONE or value.absence is not None or value.rank.state is State.BOTTOM:
            continue
        bound = frame.step(
            binding_of(function.node, key) or decorator, "only the ranks that get here define it", condition
        )
        absence = Absence(
            condition,
            True,
            bound,
            Instead.NOTHING,
            test=BY_DECORATOR + frame.module.tree.code_for_node(decorator),
            owner=function,
            around=around,
        )
        frame.memory.attributes[key] = value.replace(absence=absence)


def _dividing(frame: Frame, function: FunctionInfo) -> cst.BaseExpression | None:
    """The decorator by which only some ranks run a function."""
    decorators = [each.decorator for each in getattr(function.node, "decorators", ())]
    known = (each for each in decorators if last_name(callee_of(each)) in RANK_DECORATORS)
    return next(known, None) or next((each for each in decorators if division_by(frame, each) is not None), None)

"""What a function binds or returns that its decorator runs on some ranks only: the other ranks lack it.

For example:

    @rank_zero_only
    def start(self):
        self.log = open("log")      `log` is lacking on the other ranks
        return self.log             where these have None
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interprocedural.own_rank_decorators import division_by
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.processes.absences import binding_of
from trl_lint.domain.absence import BY_DECORATOR, Absence, Instead
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import BoundMethod, LibraryInstance, LibraryName
from trl_lint.domain.ranks import State
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind
from trl_lint.knowledge.python import RANK_DECORATORS, RETURN_STAND_INS


def note(frame: Frame, function: FunctionInfo, before: Control, decorated: Control) -> None:
    """Note, at the end of a method, what the ranks lack that its decorators do not let in.

    before: how it was entered. decorated: which ranks its decorators let in.
    """
    if decorated.uniformity is not Uniformity.DIVERGENT:
        return
    decorator = _dividing(frame, function)
    if decorator is None:
        return
    for key in frame.objects.dirty & frame.memory.attributes.keys():
        value = frame.memory.attributes[key]
        if value.kind is Kind.NONE or value.absence is not None or value.rank.state is State.BOTTOM:
            continue
        division = _LetsSomeIn(frame, function, decorator, before, decorated)
        bound = binding_of(function.node, key) or decorator
        frame.memory.attributes[key] = value.replace(absence=division.absence(bound, Instead.NOTHING))


def absence_of_result(frame: Frame, function: FunctionInfo, before: Control, decorated: Control) -> Absence | None:
    """That ranks which a decorator of a library does not let in get None of a function; one of a project may not."""
    known = [each.decorator for each in getattr(function.node, "decorators", ())]
    found = [each for each in known if last_name(callee_of(each)) in RANK_DECORATORS]
    if len(found) != 1 or last_name(callee_of(found[0])) in RETURN_STAND_INS:
        return None
    callee = frame.engine.settle(expressions.evaluate(frame, callee_of(found[0])))
    owner = callee.receiver if isinstance(callee, BoundMethod) else callee
    if not isinstance(owner, LibraryInstance | LibraryName):
        return None
    return _LetsSomeIn(frame, function, found[0], before, decorated).absence(found[0], Instead.NONE)


class _LetsSomeIn(NamedTuple):
    """A decorator that lets only some ranks run a function.

    before: how the function is entered. decorated: which ranks the decorator lets in.
    """

    frame: Frame
    function: FunctionInfo
    decorator: cst.BaseExpression
    before: Control
    decorated: Control

    def absence(self, place: cst.CSTNode, instead: Instead) -> Absence:
        """The absence, on the other ranks, of what these ranks bind or return at a place."""
        frame, before = self.frame, self.decorated.provenance.before
        condition = frame.step(self.decorator, "`{}` runs the function on some ranks only", before)
        has = "define it" if instead is Instead.NOTHING else "have its result: the others get None"
        return Absence(
            condition,
            True,
            frame.step(place, f"only the ranks that get here {has}", condition),
            instead,
            test=BY_DECORATOR + frame.module.tree.code_for_node(self.decorator),
            owner=self.function,
            around=frozenset(id(place_of(each)) for each in self.before.conditions),
        )


def _dividing(frame: Frame, function: FunctionInfo) -> cst.BaseExpression | None:
    """The decorator by which only some ranks run a function."""
    decorators = [each.decorator for each in getattr(function.node, "decorators", ())]
    known = (each for each in decorators if last_name(callee_of(each)) in RANK_DECORATORS)
    return next(known, None) or next((each for each in decorators if division_by(frame, each) is not None), None)

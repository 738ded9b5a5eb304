"""The plan for the bare model of a trainer that is prepared for generation: the wrapped one takes its place."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import UnwrappedForGeneration
from trl_lint.analysis.program.classes import ClassInfo
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.caching import is_trainer
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import dotted

_OUT_OF_REACH = "how the wrapped model is reached from here is not known"


class WrappedGenerateFix(RuleFix[UnwrappedForGeneration]):
    title = "Give it the wrapped model"
    is_collective = False
    applicabilities = (Applicability.SAFE, Applicability.DISPLAY)

    def plan(self, event: UnwrappedForGeneration) -> FixPlan | NoFix:
        """`self.model` becomes `self.model_wrapped` in a trainer; elsewhere the author has to say where it is."""
        model = event.argument.value
        owner = event.owner
        if not isinstance(event.cls, ClassInfo) or not is_trainer(event.cls) or owner is None or not owner.parameters:
            return NoFix(_OUT_OF_REACH)
        if dotted(model) != f"{owner.parameters[0].name}.model":
            return NoFix(_OUT_OF_REACH)
        return FixPlan((Replace(model, model.with_changes(attr=cst.Name("model_wrapped"))),))

"""The fixes for models that generate: unwrap a wrapped one, or pass the wrapped one where the library unwraps it.

`model.generate(…)` becomes `accelerator.unwrap_model(model).generate(…)`, and
`unwrap_model_for_generation(self.model, …)` becomes `unwrap_model_for_generation(self.model_wrapped, …)`.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import AttributeRead, UnwrappedForGeneration
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.bare_model import (
    NO_ACCELERATOR,
    TOO_EARLY,
    accelerator_of,
    is_too_early,
    read_from_bare,
    receiver,
)
from trl_lint.fixes.support.caching import is_trainer
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import dotted

_UNKNOWN_CALL = "it is not known how `generate` is called"
_NO_WRAPPED_MODEL = "it is not known how to reach the wrapped model from here"


class WrappedGenerateFix(RuleFix[AttributeRead | UnwrappedForGeneration]):
    is_collective = False
    applicabilities = (Applicability.SAFE, Applicability.DISPLAY)

    def plan(self, event: AttributeRead | UnwrappedForGeneration) -> FixPlan | NoFix:
        """The plan to unwrap the model, or pass the wrapped one, or why that is left to the author."""
        return _unwrapped(event) if isinstance(event, AttributeRead) else _wrapped(event)

    def title_for(self, event: AttributeRead | UnwrappedForGeneration) -> str:
        return "Generate with the bare model" if isinstance(event, AttributeRead) else "Pass the wrapped model"


def _unwrapped(event: AttributeRead) -> FixPlan | NoFix:
    node, model = event.node, receiver(event.node)
    if model is None or not isinstance(node, (cst.Attribute, cst.Call)):
        return NoFix(_UNKNOWN_CALL)
    accelerator = accelerator_of(event, model)
    if not accelerator:
        return NoFix(NO_ACCELERATOR)
    if is_too_early(event, accelerator, node):
        return NoFix(TOO_EARLY)
    return FixPlan((Replace(node, read_from_bare(node, model, accelerator)),))


def _wrapped(event: UnwrappedForGeneration) -> FixPlan | NoFix:
    """`self.model` becomes `self.model_wrapped` in a trainer; elsewhere the author has to find the wrapped model."""
    model = event.argument.value
    owner = event.function
    if not isinstance(event.cls, ClassInfo) or not is_trainer(event.cls) or owner is None or not owner.parameters:
        return NoFix(_NO_WRAPPED_MODEL)
    if dotted(model) != f"{owner.parameters[0].name}.model":
        return NoFix(_NO_WRAPPED_MODEL)
    return FixPlan((Replace(model, model.with_changes(attr=cst.Name("model_wrapped"))),))

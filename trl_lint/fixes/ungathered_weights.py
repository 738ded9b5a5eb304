"""The fix for weights that are saved as one rank has them: the Trainer's own save, or what Accelerate gathers."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.checkpoint_events import ShardsSaved
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import dotted
from trl_lint.fixes.support.tree import with_keyword
from trl_lint.knowledge.models import GIVEN_WEIGHTS, SAVES_ITSELF

_NOT_HERE = "it is saved in a way that does not say how its weights are gathered"
_MORE_FILES = "the Trainer also writes its tokenizer and its arguments, and all ranks gather the weights"
_GATHERS = "all ranks gather the weights"
_SAVE_MODEL = "save_model"


class UngatheredWeightsFix(RuleFix[ShardsSaved]):
    communication = "gathers the weights"
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: ShardsSaved) -> FixPlan | NoFix:
        """The plan to save what is gathered, or why that is left to the author."""
        saving = event.node.func
        if not isinstance(saving, cst.Attribute) or saving.attr.value != SAVES_ITSELF:
            return NoFix(_NOT_HERE)
        if event.trainer is not None and _saves_itself(event.trainer, event.node):
            own = cst.Attribute(event.trainer, cst.Name(_SAVE_MODEL))
            return FixPlan((Replace(saving, own),), caution=_MORE_FILES)
        if event.trainer is not None or event.wrapped is None or not event.accelerator or not dotted(event.wrapped):
            return NoFix(_NOT_HERE)
        gather = cst.parse_expression(f"{event.accelerator}.get_state_dict")
        gathered = cst.Call(gather, [cst.Arg(event.wrapped)])
        return FixPlan((Replace(event.node, with_keyword(event.node, GIVEN_WEIGHTS, gathered)),), caution=_GATHERS)

    def title_for(self, event: ShardsSaved) -> str:
        return "Save the gathered weights"


def _saves_itself(trainer: cst.BaseExpression, saving: cst.Call) -> bool:
    """Whether the Trainer can do it: not in a method of its own, which may be just the one that saves."""
    match saving.args:
        case [cst.Arg(keyword=None, star="")]:
            return dotted(trainer) not in ("", "self")
    return False

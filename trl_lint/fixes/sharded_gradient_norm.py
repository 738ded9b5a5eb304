"""The fix for a norm of each rank's own parts of the gradients: the wrapper's method, which takes that of all parts."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.gradient_events import ShardsClipped
from trl_lint.domain.values import Wrapping
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.scope import dotted
from trl_lint.knowledge.torch import CLIPPED, OWN_CLIP, OWN_CLIP_TAKES

_CHANGES = "it changes what is trained: all ranks clip by the same factor from then on"
_SOME = "only some of the parameters are passed, and the wrapper's method takes all of them"
_NO_NAME = "the wrapped model has no name here"
_OTHERS = "the wrapper's method does not have all of these parameters"


class ShardedGradientNormFix(RuleFix[ShardsClipped]):
    title = "Clip by the norm of all ranks"
    communication = "the wrapper's method communicates"
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: ShardsClipped) -> FixPlan | NoFix:
        """The plan to call the method instead, or why that is left to the author."""
        if not event.whole:
            return NoFix(_SOME)
        if event.model.wrapping is not Wrapping.UNKNOWN or not dotted(event.owner):
            return NoFix(_NO_NAME)
        _, parameters = CLIPPED
        kept = [each for each in event.node.args if each.keyword is None or each.keyword.value != parameters]
        if len(kept) == len(event.node.args):
            kept = kept[1:]
        if not _are_taken(kept):
            return NoFix(_OTHERS)
        method = cst.Attribute(event.owner, cst.Name(OWN_CLIP))
        return FixPlan((Replace(event.node, event.node.with_changes(func=method, args=kept)),), caution=_CHANGES)


def _are_taken(arguments: list[cst.Arg]) -> bool:
    """Whether the wrapper's method takes these arguments, which the function got after the parameters."""
    places = [each for each in arguments if each.keyword is None]
    names = {each.keyword.value for each in arguments if each.keyword is not None}
    is_open = any(each.star for each in arguments)
    return not is_open and len(places) <= len(OWN_CLIP_TAKES) and names <= set(OWN_CLIP_TAKES)

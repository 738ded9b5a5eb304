"""Results of unknown callees, as far as the names of the arguments tell them.

For example:

    processor(texts, return_tensors="pt")                  derived from `texts`
    model.generate(**inputs, do_sample=False)              token ids, as long as this rank's longest completion
    reward(prompts=prompts, completions=completions)       one reward for each: rank-local if these are
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.calls.model_calls import generated
from trl_lint.analysis.interpreter.operations.pure_calls import element_of, loaded_result
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchRole, BatchValue
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Value
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.models import GENERATES


def result(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a call of something unknown; None if its arguments say nothing."""
    if any(map(heuristics.RETURNS_TENSORS.fits, args.keywords)):
        return loaded_result(frame, args)
    if any(map(heuristics.GENERATION_SETTING.fits, args.keywords)) and _calls_generate(node):
        return generated(frame, args)
    if not any(map(heuristics.REWARDED.fits, args.keywords)) or not _are_rank_local_samples(frame, args):
        return None
    for observe in frame.observers.unknown_call:
        observe(frame, args, node)
    return BatchValue(ranks.SHARD, BatchRole.FIELD, provenance=frame.step(node, "`{}` rewards this rank's own samples"))


def _calls_generate(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in GENERATES


def _are_rank_local_samples(frame: Frame, args: Arguments) -> bool:
    """Whether the rewarded samples are rank-local: none of them gathered before."""
    samples = [value for name, value in args.keywords.items() if name == "prompts" or heuristics.REWARDED.fits(name)]
    facts = [element_of(frame, value).rank for value in samples]
    is_gathered = any(fact.state is State.SAME for fact in facts)
    return len(facts) > 1 and not is_gathered and any(Origin.DATA in fact.origins for fact in facts)

"""Results of library functions that all ranks call, and of which only the first one gets something.

best = trainer.hyperparameter_search(hp_space=space)    None on the other ranks: they have trained the same trials
args.learning_rate = best.hyperparameters["rate"]       those fail here
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.absence import Absence, Instead
from trl_lint.domain.values import Value
from trl_lint.knowledge.transformers import GIVEN_TO_FIRST


def result(frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """The result of a library's function, with its absence on the other ranks."""
    unless = GIVEN_TO_FIRST.get(name)
    if unless is None:
        return value
    (position, keyword), usual = unless
    chosen = args.get(position, keyword)
    if args.star is not None or args.double is not None or (chosen is not None and chosen.const != usual):
        return value
    here = frame.step(node, "`{}` gives its result to the first rank, and None to the others")
    return value.replace(absence=Absence(here, True, here, Instead.NONE, test=name))

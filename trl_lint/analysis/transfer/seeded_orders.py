"""Generators that draw their own order: where the seed is the same on all ranks, so is what they yield.

def batches(data, seed):
    for index in numpy.random.RandomState(seed).permutation(len(data)):
        yield collate(data[index])                        the same on all ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import names_in, of_class
from trl_lint.domain import ranks
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import SETTING_OF_RANK
from trl_lint.knowledge.random_draws import SEEDED_GENERATORS


def as_drawn(function: cst.CSTNode, yielded: Value) -> Value:
    """What a generator yields, of which nothing else is known, as its own order has it."""
    if yielded.rank.state is not State.UNKNOWN or not _draws_alike(function):
        return yielded
    return yielded.but(rank=ranks.SAME)


def _draws_alike(function: cst.CSTNode) -> bool:
    """Whether a function makes generators of random numbers from seeds, none of which may be a rank's own."""
    makers = [call for call in of_class(function, cst.Call) if _last_name(call.func) in SEEDED_GENERATORS]
    seeds = [arg for call in makers for arg in call.args]
    return bool(seeds) and not any(SETTING_OF_RANK.fits(name) for seed in seeds for name in names_in(seed))


def _last_name(node: cst.BaseExpression) -> str:
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""

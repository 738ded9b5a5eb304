"""What a function that a library is given has from the parameters of the function around it.

def make(path, rank):
    def reward(completions):        a library calls it, when `make` has returned
        open(path, "w")             the same on all ranks, as all calls of `make` pass such a path
        open(f"{rank}.txt", "w")    unknown
    return reward

trainer(reward_funcs=[make("a.txt", me), make("b.txt", me)])
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import used_names
from trl_lint.domain.joins import join_all
from trl_lint.domain.values import UNKNOWN, Kind, Value

# What has no parts that may be changed meanwhile.
_PLAIN = frozenset({Kind.NONE, Kind.NUMBER, Kind.STRING, Kind.UNKNOWN})


def names(function: FunctionInfo) -> dict[str, Value]:
    """The values of those parameters that are the same on all ranks in each call of the function around."""
    around = None if function.closure is None else function.closure.function
    if around is None or not around.summaries:
        return {}
    own = {each.name for each in function.parameters}
    free = {each for each in used_names(function.node) - own if not is_bound(function.node.body, cst.Name(each))}
    return dict(_shared(around, free))


def _shared(around: FunctionInfo, free: set[str]) -> Iterator[tuple[str, Value]]:
    for parameter in around.parameters:
        if parameter.star or parameter.name not in free or is_bound(around.node.body, cst.Name(parameter.name)):
            continue
        passed = [each.names.get(parameter.name) for each in around.summaries.values()]
        value = join_all(UNKNOWN if each is None else each for each in passed)
        if value.rank.is_uniform and value.kind in _PLAIN:
            yield parameter.name, value

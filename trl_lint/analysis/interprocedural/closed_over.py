"""What a function that a library is given has from the function around it: its parameters, and names bound once there.

def make(path, rank):
    log = path + ".log"
    def reward(completions):        a library calls it, when `make` has returned
        open(path, "w")             the same on all ranks, as all calls of `make` pass such a path
        open(log, "w")              likewise, if they pass no argument that may differ between ranks
        open(f"{rank}.txt", "w")    unknown
    return reward

trainer(reward_funcs=[make("a.txt", me), make("b.txt", me)])
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import bindings, is_bound
from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import LOOPS, ancestors, used_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import MISSING
from trl_lint.domain.joins import join_all
from trl_lint.domain.values import UNKNOWN, Kind, Value

# What has no parts that may be changed meanwhile.
_PLAIN = frozenset({Kind.NONE, Kind.NUMBER, Kind.STRING, Kind.UNKNOWN})


def names(function: FunctionInfo) -> dict[str, Value]:
    """The values of those names that are the same on all ranks in each call of the function around."""
    closure = function.closure
    around = None if closure is None else closure.function
    if closure is None or around is None or not around.summaries:
        return {}
    own = {each.name for each in function.parameters}
    free = {each for each in used_names(function.node) - own if not is_bound(function.node.body, cst.Name(each))}
    return dict(_shared(around, free)) | dict(_bound(closure, around, free))


def _shared(around: FunctionInfo, free: set[str]) -> Iterator[tuple[str, Value]]:
    for parameter in around.parameters:
        if parameter.star or parameter.name not in free or is_bound(around.node.body, cst.Name(parameter.name)):
            continue
        passed = [each.names.get(parameter.name) for each in around.summaries.values()]
        value = join_all(UNKNOWN if each is None else each for each in passed)
        if value.rank.is_uniform and value.kind in _PLAIN:
            yield parameter.name, value


def _bound(closure: Frame, around: FunctionInfo, free: set[str]) -> Iterator[tuple[str, Value]]:
    """What the function around binds once, outside of loops: from the last of its calls, which are all alike."""
    passed = [each.names.get(parameter.name) for each in around.summaries.values() for parameter in around.parameters]
    if not all(each is not None and each.rank.is_uniform for each in passed):
        return
    for name in sorted(free):
        value = closure.memory.names.get(name)
        if value is None or not value.rank.is_uniform or value.kind not in _PLAIN:
            continue
        places = list(bindings(around.node.body, cst.Name(name)))
        in_loop = any(isinstance(each, LOOPS) for place in places for each in ancestors(around.node, place))
        if len(places) == 1 and isinstance(places[0], cst.AssignTarget) and not in_loop:
            yield name, value if len(around.summaries) == 1 else value.replace(const=MISSING)

"""Ranks that start an endless loop over before they have met the others in it: the others wait for them as ever.

For example:

    while True:
        if rank == 0:
            text = input()
            if not text:
                continue                  rank 0 asks again, and then gets to the barrier
        dist.all_reduce(ended)            where the others are in the same iteration as before
        if ended > 0:
            break                         all ranks have the same number, whatever they did before
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from trl_lint.analysis.program.blocks import exits_of_loop
from trl_lint.analysis.program.idioms.finished_steps import bindings
from trl_lint.analysis.program.syntax import LOOPS, ancestors, below, innermost, precedes, used_names


def start_over(root: cst.CSTNode, leaving: Sequence[cst.CSTNode], met: Iterable[cst.CSTNode]) -> bool:
    """Whether all that ranks do at these statements, by which they leave a branch, is to start an endless loop over.

    met: where the function synchronises with other ranks. In a loop that ends, they would end it too early.
    """
    loop = innermost(root, leaving[0], *LOOPS) if leaving else None
    if not isinstance(loop, cst.While) or not isinstance(loop.test, cst.Name) or loop.test.value != "True":
        return False
    if any(not isinstance(each, cst.Continue) or innermost(root, each, *LOOPS) is not loop for each in leaving):
        return False
    inside = {id(each) for each in below(loop)}
    points = [each for each in met if id(each) in inside]
    if any(precedes(root, each, leaving[-1]) for each in points):
        return False
    bound = {each.value for each in bindings(loop) if precedes(root, each, leaving[-1])}
    return all(_is_decided_by(root, loop, each, points, bound) for each in exits_of_loop(root, loop))


def _is_decided_by(
    root: cst.CSTNode, loop: cst.While, leaving: cst.CSTNode, points: Sequence[cst.CSTNode], bound: set[str]
) -> bool:
    """Whether an exit comes after the ranks have met, and does not depend on what some of them did before that.

    bound: the names that are bound before they start over, unless one of the calls in which they meet has it.
    """
    before = [each for each in points if precedes(root, each, leaving)]
    shared = {name for each in before for name in used_names(each)}
    tests = (each.test for each in ancestors(loop, leaving) if isinstance(each, cst.If))
    return bool(before) and not any(used_names(test) & (bound - shared) for test in tests)

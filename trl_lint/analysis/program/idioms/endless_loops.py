"""Ranks that start an endless loop over before they have met the others in it: the others wait for them as ever.

For example:

    while True:
        if rank == 0:
            text = input()
            if not text:
                continue                  rank 0 asks again, and then gets to the barrier
        dist.barrier()                    where the others are in the same iteration as before
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from trl_lint.analysis.program.syntax import LOOPS, below, innermost, of_class, precedes


def start_over(root: cst.CSTNode, leaving: Sequence[cst.CSTNode], met: Iterable[cst.CSTNode]) -> bool:
    """Whether all that ranks do at these statements, by which they leave a branch, is to start an endless loop over.

    met: where the function synchronises with other ranks. In a loop that ends, they would end it too early.
    """
    loop = innermost(root, leaving[0], *LOOPS) if leaving else None
    if not isinstance(loop, cst.While) or not _is_endless(root, loop):
        return False
    if any(not isinstance(each, cst.Continue) or innermost(root, each, *LOOPS) is not loop for each in leaving):
        return False
    inside = {id(each) for each in below(loop)}
    before = [each for each in met if id(each) in inside and precedes(root, each, leaving[-1])]
    return not before


def _is_endless(root: cst.CSTNode, loop: cst.While) -> bool:
    """Whether a loop ends by an exception only."""
    if not isinstance(loop.test, cst.Name) or loop.test.value != "True":
        return False
    breaks = (each for each in of_class(loop.body, cst.Break) if innermost(root, each, *LOOPS) is loop)
    return not any(breaks) and not any(of_class(loop.body, cst.Return))

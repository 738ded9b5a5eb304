"""Code that never runs in a process that gets to a place: the other branch of an `if` around it, or one that returns.

if args.plot_only: plot(scores)            never runs in a process that gets to `Accelerator()`
else: run(Accelerator())

if args.plot_only:
    plot(scores)                           nor does this
    return
run(Accelerator())
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.blocks import exits_before, last_statement
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.syntax import LOOPS, ancestors, below

_LEAVES = (cst.Raise, cst.Return)


def excluded_by_all(root: cst.CSTNode, places: Iterable[cst.CSTNode]) -> frozenset[int]:
    """The ids of the nodes of a module that never run in a process that gets to one of these places of a function."""
    arms = [list(_arms_excluded_by(root, each)) for each in places]
    if not arms or not all(arms):
        return frozenset()
    first, *others = ({id(node) for arm in each for node in below(arm)} for each in arms)
    return frozenset(first.intersection(*others))


def _arms_excluded_by(root: cst.CSTNode, place: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for branch, holds in ifs_around(root, place):
        other = branch.orelse if holds else branch.body
        if other is not None and _runs_once(root, branch, place):
            yield other
    for branch in exits_before(root, place):
        if isinstance(last_statement(branch.body), _LEAVES) and _runs_once(root, branch, place):
            yield branch.body


def _runs_once(root: cst.CSTNode, branch: cst.If, place: cst.CSTNode) -> bool:
    """Whether a call of the function that a place is in takes one arm of a branch in it, which is in no loop."""
    around = ancestors(root, branch)
    functions = [each for each in ancestors(root, place) if isinstance(each, (cst.FunctionDef, cst.Lambda))]
    start = around.index(functions[-1]) if functions and functions[-1] in around else 0
    is_inside = not functions or functions[-1] in around
    return is_inside and not any(isinstance(each, LOOPS) for each in around[start:])

"""Places that a program reaches before it starts the process group, so that there is no rank to ask torch for.

def main(args):
    wandb.init()                              the group is started later
    if args.distributed:
        dist.init_process_group("nccl")
    torch.save(args, "args.pt")               here it may be asked
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, definitions_around, last_name, of_class, precedes
from trl_lint.knowledge.heuristics import ENDS_GROUP
from trl_lint.knowledge.process_starts import DISTINCT_STARTS, START_RANKS, STARTS_OF_GROUP

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module

# Nodes whose contents may not run, or run at another time.
_MAY_BE_SKIPPED = (
    cst.If,
    cst.IfExp,
    cst.For,
    cst.While,
    cst.Try,
    cst.TryStar,
    cst.Match,
    cst.Lambda,
    cst.BooleanOperation,
)


def is_group_started_later(module: Module, function: FunctionInfo | None, place: cst.CSTNode) -> bool:
    """Whether a place, or a call of the function that it is in, comes before what starts the group.

    A program that starts its own processes tells each of them its rank, which is in no variable of the environment.
    """
    if any(last_name(each.func) in START_RANKS for each in of_class(module.tree, cst.Call)):
        return False
    starts = STARTS_OF_GROUP | {each.name for each in module.functions if any(_calls(each.node, STARTS_OF_GROUP))}
    if function is None:
        return _is_before(module.tree, place, starts)
    callers = (module.tree, *(each.node for each in module.functions if each is not function))
    called = ((each, call) for each in callers for call in _calls(each, frozenset({function.name})))
    return any(_is_before(root, node, starts) for root, node in ((function.node, place), *called))


def is_group_started_before(function: FunctionInfo | None, place: cst.CSTNode) -> bool:
    """Whether the function around a place always starts the group first, and does not end it before the place.

    `initialize` may be that of another library: `amp.initialize(model)`.
    """
    if function is None:
        return False
    ends = {name for each in of_class(function.node, cst.Call) if ENDS_GROUP.fits(name := last_name(each.func))}
    if any(precedes(function.node, each, place) for each in _calls(function.node, ends)):
        return False
    return any(
        precedes(function.node, each, place)
        and not any(isinstance(around, _MAY_BE_SKIPPED) for around in ancestors(function.node, each)[1:])
        for each in _calls(function.node, DISTINCT_STARTS)
    )


def _is_before(root: cst.CSTNode, place: cst.CSTNode, starts: frozenset[str] | set[str]) -> bool:
    found = list(_calls(root, starts))
    return bool(found) and all(precedes(root, place, each) for each in found)


def _calls(root: cst.CSTNode, names: frozenset[str] | set[str]) -> Iterator[cst.Call]:
    """The calls of these functions in a function, or in the code of a file outside of its functions."""
    for call in of_class(root, cst.Call):
        if last_name(call.func) in names and not [each for each in definitions_around(root, call) if each is not root]:
            yield call

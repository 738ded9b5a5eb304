"""Whether a forward of the wrapper prepares the backward pass of what the module inside it computes after that.

For example:

    out = model(x)                            DDP prepares the reduction of all gradients
    more = model.module(y)                    so those of this forward are reduced, too
    criterion(out, more).backward()

    criterion(model(x)).backward()            this backward pass has used that up
    criterion(model.module(y)).backward()

    print(model(x))                           most gradients are missing, for which the reduction waits
    criterion(model.module.part(y)).backward()

    for y in parts:                           in the first turn only
        criterion(model.module(y)).backward()
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from trl_lint.analysis.program.idioms.only_forwards import fate_of
from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches
from trl_lint.analysis.program.syntax import LOOPS, ancestors, last_name, of_class, precedes
from trl_lint.knowledge.heuristics import OPTIMIZER_OBJECT
from trl_lint.knowledge.torch import STEPS_OF_TRAINING

# What code in it may not run, or not where it stands.
_CONDITIONAL = (
    cst.BaseComp,
    cst.BooleanOperation,
    cst.ClassDef,
    cst.ExceptHandler,
    cst.FunctionDef,
    cst.If,
    cst.IfExp,
    cst.Lambda,
    cst.Match,
    cst.Try,
)


def is_prepared(root: cst.CSTNode, node: cst.CSTNode, forwards: Iterable[cst.Call]) -> bool:
    """Whether one of these forwards always runs on the way to a node, and the next backward pass is that of both.

    root: the function (or module) of the node.
    """
    around = ancestors(root, node)
    loops = [each for each in around if isinstance(each, LOOPS)]
    return any(
        _runs_before(root, call, node, around)
        and not _is_used_up(root, call, node, loops)
        and _is_trained_with(root, call, node)
        for call in forwards
    )


def _runs_before(root: cst.CSTNode, call: cst.Call, node: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> bool:
    if not precedes(root, call, node) or are_in_opposite_branches(root, call, node):
        return False
    return not any(isinstance(each, _CONDITIONAL) and each not in around for each in ancestors(root, call))


def _is_used_up(root: cst.CSTNode, call: cst.Call, node: cst.CSTNode, loops: Iterable[cst.CSTNode]) -> bool:
    """Whether a backward pass may run between a forward and a node, or before the node is reached again."""
    around = ancestors(root, call)
    if any(_may_run_backward(each) for loop in loops if loop not in around for each in of_class(loop, cst.Call)):
        return True
    ended = (each for each in of_class(root, cst.Call) if precedes(root, each, node))
    return any(not precedes(root, each, call) and _may_run_backward(each) for each in ended)


def _is_trained_with(root: cst.CSTNode, call: cst.Call, node: cst.CSTNode) -> bool:
    """Whether a backward pass starts from the result of a forward, here or where it is returned with that of a node."""
    is_started, is_returned = fate_of(root, call)
    if is_started or not is_returned:
        return is_started
    at_once = (each for each in ancestors(root, node) if isinstance(each, cst.Call))
    return not (fate_of(root, node)[0] or any(map(_may_run_backward, at_once)))


def _may_run_backward(call: cst.Call) -> bool:
    """Whether a call runs a backward pass, or ends a step: `scaler(loss, optimizer)` may do both."""
    name = last_name(call.func)
    if "backward" in name or name in STEPS_OF_TRAINING:
        return True
    return any(OPTIMIZER_OBJECT.fits(last_name(each.value)) for each in call.args)

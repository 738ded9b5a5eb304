"""Models that a function wraps on one way out: the result is wrapped where the condition of that way holds.

    def wrapped(model, args):
        if not args.distributed:
            return model                  bare
        return DDP(model)                 wrapped: the result is MAYBE, and depends on `not args.distributed`

Only functions with two ways out that one `if` decides between are concerned.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.conditions.wrapping_tests import either_model
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Value


def with_wrapped_way(frame: Frame, result: Value) -> Value:
    """The result of a function, known to be wrapped on one way out if that is so."""
    values = [value for value, _ in frame.returned]
    if len(values) != 2 or not any(each.wrapping in WRAPPED_ON_SOME_WAY for each in values):
        return result
    fork = deciding(frame)
    if fork is None:
        return result
    branch, is_first = fork
    yes, no = values if is_first else values[::-1]
    return either_model(frame, branch.test, yes, no) or result


def deciding(frame: Frame) -> tuple[cst.If, bool] | None:
    """The `if` that alone decides which of two ways out is taken, and whether its body has the first; or None."""
    returns = [each for each in frame.exits if isinstance(each, cst.Return)]
    return _deciding(frame.root, *returns) if len(returns) == len(frame.returned) == 2 else None


def _deciding(root: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode) -> tuple[cst.If, bool] | None:
    """The `if` that alone decides which of two statements is reached, and whether its body has the first of them."""
    paths = ancestors(root, one), ancestors(root, other)
    branches = {id(each): each for path in paths for each in path if isinstance(each, cst.If)}
    arms = {key: tuple(_arm(each, path) for path in paths) for key, each in branches.items()}
    deciding = [key for key, (first, second) in arms.items() if first is not second]
    if len(deciding) != 1:
        return None
    branch = branches[deciding[0]]
    first, second = arms[deciding[0]]
    return (branch, first is branch.body) if branch.body in (first, second) else None


def _arm(branch: cst.If, path: tuple[cst.CSTNode, ...]) -> cst.CSTNode | None:
    """The part of an `if` that a path leads through."""
    return next((each for each in (branch.body, branch.orelse) if each in path), None)

"""Calls that are made whichever way a test turns out, so that it keeps no rank from making one of them.

if resumed:
    run = wandb.init(id=last)        made either way
elif args.name:
    run = wandb.init(name=args.name)
else:
    run = wandb.init()

if resumed:
    wandb.init(id=last)              not made where the test is false
elif args.track:
    wandb.init()
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import branch_of
from trl_lint.analysis.program.syntax import ancestors, of_class


def is_called_either_way(root: cst.CSTNode, test: cst.CSTNode, node: cst.CSTNode, unless: frozenset[str]) -> bool:
    """Whether the other branch of a test has a call of the same function as the one that `node` is.

    unless: keywords with which a call does something else.
    """
    branch = branch_of(root, test)
    if branch is None or not isinstance(node, cst.Call) or not (around := ancestors(branch, node)):
        return False
    other = branch.orelse if any(each is branch.body for each in around) else branch.body

    def is_same(call: cst.Call) -> bool:
        given = {each.keyword.value for each in call.args if each.keyword is not None}
        return call.func.deep_equals(node.func) and given.isdisjoint(unless)

    return _calls(other, is_same)


def _calls(code: cst.CSTNode | None, is_same: Callable[[cst.Call], bool]) -> bool:
    """Whether some code has a call on every way through it."""
    match code:
        case cst.If():
            return _calls(code.body, is_same) and _calls(code.orelse, is_same)
        case cst.Else(body=body):
            return _calls(body, is_same)
        case cst.IndentedBlock():
            return any(_calls(each, is_same) for each in code.body)
        case cst.SimpleStatementSuite() | cst.SimpleStatementLine():
            return any(map(is_same, of_class(code, cst.Call)))
    return False

"""The plan for a data set that ranks compute at the same time: one rank of the whole job goes first."""

from __future__ import annotations

from typing import Any

import libcst as cst

from trl_lint.analysis.events import DatasetPrepared
from trl_lint.analysis.heap import Turn
from trl_lint.rewriting.blocks import enclosing_statement
from trl_lint.rewriting.edits import Edit, Enclose, Import, NoRewrite, Replace, Rewrite
from trl_lint.rewriting.scope import binders, nodes, used_names

_STATE = "PartialState"
_SMALL = (cst.Assign, cst.AnnAssign, cst.Expr, cst.Return)


def plan_for_everybody(event: DatasetPrepared) -> Rewrite | NoRewrite:
    """How to let the main process run a statement first."""
    root = event.owner.node if event.owner is not None else event.module.tree
    found = enclosing_statement(root, event.node)
    if found is None or not isinstance(found[0], cst.SimpleStatementLine) or len(found[0].body) > 1:
        return NoRewrite("the data set is computed in a statement that is more than one line of its own")
    statement, around = found
    if not isinstance(statement.body[0], _SMALL):
        return NoRewrite("the data set is computed in a statement that is no plain call")
    if any(isinstance(each, (cst.For, cst.While)) for each in around):
        return NoRewrite("the data set is computed in a loop: the author may let one rank go through all of it first")
    accelerator = _accelerator(event, statement)
    if accelerator:
        return Rewrite((Enclose(statement, f"with {accelerator}.main_process_first()"),))
    imports = _state_in_reach(event.module.tree, root)
    if isinstance(imports, NoRewrite):
        return imports
    return Rewrite((Enclose(statement, f"with {_STATE}().main_process_first()"), *imports))


def _accelerator(event: DatasetPrepared, statement: Any) -> str:
    """The accelerator there, unless it is only made by the time `__init__` is done."""
    if event.in_trainer and event.owner is not None and event.owner.name == "__init__":
        return ""
    return event.accelerator


def _state_in_reach(tree: cst.Module, root: Any) -> tuple[Edit, ...] | NoRewrite:
    if _STATE not in used_names(tree):
        return (Import("accelerate", _STATE),)
    bound = binders(tree, [_STATE])
    is_import = [isinstance(each, cst.ImportAlias) for each in bound]
    at_top = {id(each) for line in tree.body if isinstance(line, cst.SimpleStatementLine) for each in nodes(line)}
    if bound and all(is_import) and all(id(each) in at_top for each in bound):
        return ()
    return NoRewrite(f"`{_STATE}` may mean something else here")


def plan_for_each_node(turn: Turn) -> Rewrite | NoRewrite:
    """How to have one rank of the job go first instead of one of each node."""
    call = turn.node.item
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        name = call.func.attr
        if name.value == "local_main_process_first":
            return Rewrite((Replace(name, name.with_changes(value="main_process_first")),))
    return NoRewrite("another function says who goes first")

"""The plan for a side effect of every rank: a guard that lets the main process through."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.program.project import Module
from trl_lint.domain.kinds import library_name_of
from trl_lint.fixes.support.blocks import enclosing_statement
from trl_lint.fixes.support.edits import Enclose, NoRewrite, Rewrite
from trl_lint.fixes.support.scope import nodes

# Libraries whose objects are handed to a tracker: what they make meets nobody.
_TABLES = frozenset({"pandas", "trackio", "wandb"})
_WAITED_FOR = "whether other processes need it, and have to wait for it, is not known"
_MAY_MEET = "what is called in it may have to be called by all processes"


def plan_for(event: SideEffect) -> Rewrite | NoRewrite:
    """How to put a call whose result nobody uses under `is_main_process`."""
    root = event.owner.node if event.owner is not None else event.module.tree
    found = enclosing_statement(root, event.node)
    line = found[0] if found is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return NoRewrite("it is part of a larger statement")
    only = line.body[0]
    if not isinstance(only, cst.Expr) or only.value is not event.node:
        return NoRewrite("what it gives is used by all processes")
    if not event.accelerator:
        return NoRewrite("no Accelerator is in reach")
    caution = "" if event.effect.shown else _WAITED_FOR
    return Rewrite((Enclose(line, f"if {event.accelerator}.is_main_process"),), caution=caution or _calls(event))


def _calls(event: SideEffect) -> str:
    """Why it matters what the arguments call."""
    inner = [each for arg in event.node.args for each in nodes(arg) if isinstance(each, cst.Call)]
    return "" if all(_makes_a_table(event.module, each.func) for each in inner) else _MAY_MEET


def _makes_a_table(module: Module, func: cst.BaseExpression) -> bool:
    if not (isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name)):
        return False
    return library_name_of(module.names.get(func.value.value)).partition(".")[0] in _TABLES

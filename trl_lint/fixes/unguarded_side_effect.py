"""The plan for a side effect of every rank: a guard that lets the main process through."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import SideEffect
from trl_lint.analysis.program.project import Module
from trl_lint.domain.kinds import library_name_of
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import own_line
from trl_lint.fixes.support.edits import Enclose, FixPlan, NoFix
from trl_lint.fixes.support.scope import nodes, scope_of

# Modules whose objects are handed to a tracker: what they make meets nobody.
_TABLES = frozenset({"pandas", "trackio", "wandb"})
_WAITED_FOR = "whether other processes need it, and have to wait for it, is not known"
_MAY_MEET = "what is called in it may have to be called by all processes"


class UnguardedSideEffectFix(RuleFix[SideEffect]):
    title = "Do it on the main process only"
    is_collective = False

    def plan(self, event: SideEffect) -> FixPlan | NoFix:
        """How to put a call whose result nobody uses under `is_main_process`."""
        found = own_line(scope_of(event.owner, event.module), event.node)
        if found is None:
            return NoFix("it is part of a larger statement")
        line, only = found.statement, found.statement.body[0]
        if not isinstance(only, cst.Expr) or only.value is not event.node:
            return NoFix("what it gives is used by all processes")
        if not event.accelerator:
            return NoFix("no Accelerator is in reach")
        caution = "" if event.effect.shown else _WAITED_FOR
        return FixPlan(
            (Enclose(line, f"if {event.accelerator}.is_main_process"),),
            caution=caution or _caution_for_arguments(event),
        )


def _caution_for_arguments(event: SideEffect) -> str:
    """Why it matters what the arguments call; "" if they call nothing that all processes may have to."""
    inner = [each for arg in event.node.args for each in nodes(arg) if isinstance(each, cst.Call)]
    return "" if all(_makes_a_table(event.module, each.func) for each in inner) else _MAY_MEET


def _makes_a_table(module: Module, func: cst.BaseExpression) -> bool:
    """Whether it is a function of a module that only makes what is handed to a tracker."""
    if not (isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name)):
        return False
    return library_name_of(module.names.get(func.value.value)).partition(".")[0] in _TABLES

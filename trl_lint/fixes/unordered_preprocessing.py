"""The fix for a data set that ranks compute at the same time: one rank of the whole job goes first."""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.data_events import DatasetPrepared
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.control import FirstRank
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import own_line
from trl_lint.fixes.support.edits import Enclose, FixPlan, NoFix, Replace
from trl_lint.fixes.support.main_process import partial_state
from trl_lint.fixes.support.scope import scope_of

_WAITS = "the other processes wait in a barrier, which fails if the work takes longer than the collective time-out"
_NOT_SHARED = "on nodes without a shared file system, all ranks then compute it"
_NODES = re.compile(r"\bnodes?\b", re.IGNORECASE)
_SMALL = (cst.Assign, cst.AnnAssign, cst.Expr, cst.Return)


class UnorderedPreprocessingFix(RuleFix[DatasetPrepared]):
    is_collective = False  # all ranks are known to reach it
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)

    def plan(self, event: DatasetPrepared) -> FixPlan | NoFix:
        return _main_process_first(event) if event.first_rank is None else _for_each_node(event.first_rank, event)

    def title_for(self, event: DatasetPrepared) -> str:
        return f"Let the main process{' of the whole job' if event.first_rank is not None else ''} go first"


def _main_process_first(event: DatasetPrepared) -> FixPlan | NoFix:
    """The plan to let the main process run a statement first."""
    found = own_line(scope_of(event.function, event.module), event.node)
    if found is None:
        return NoFix("the data set is computed in a larger statement")
    statement = found.statement
    if not isinstance(statement.body[0], _SMALL):
        return NoFix("the data set is not computed by a plain call")
    if any(isinstance(each, (cst.For, cst.While)) for each in found.around):
        return NoFix("the data set is computed in a loop; one rank could run the whole loop first")
    accelerator = _accelerator(event)
    if accelerator:
        return FixPlan((Enclose(statement, f"with {accelerator}.main_process_first()"),), caution=_WAITS)
    found_state = partial_state(event.module, statement)
    if isinstance(found_state, NoFix):
        return found_state
    state, imports = found_state
    return FixPlan((Enclose(statement, f"with {state}().main_process_first()"), *imports), caution=_WAITS)


def _accelerator(event: DatasetPrepared) -> str:
    """The accelerator there, unless it exists only once `__init__` is done."""
    if event.in_trainer and event.function is not None and event.function.name == "__init__":
        return ""
    return event.accelerator


def _for_each_node(first_rank: FirstRank, event: DatasetPrepared) -> FixPlan | NoFix:
    """The plan to let one rank of the job go first, instead of one per node."""
    call = first_rank.node.item
    if first_rank.module is event.module and _is_meant_for_nodes(event.module.tree, call):
        return NoFix("the comment above says that each node is meant to compute it")
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        name = call.func.attr
        if name.value == "local_main_process_first":
            return FixPlan((Replace(name, name.with_changes(value="main_process_first")),), caution=_NOT_SHARED)
    return NoFix("another function decides which rank goes first")


def _is_meant_for_nodes(tree: cst.Module, call: cst.CSTNode) -> bool:
    """Whether the comment above a `with` mentions nodes, so that it would contradict the new code."""
    blocks = [each for each in ancestors(tree, call) if isinstance(each, cst.With)]
    lines = blocks[-1].leading_lines if blocks else ()
    return any(line.comment is not None and _NODES.search(line.comment.value) for line in lines)

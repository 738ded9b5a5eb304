"""The plan for calls that a condition on the rank keeps from the other ranks: move them before the condition.

The code under the condition is one block, line by line: the body of the `if`, or what follows one that returns. This
module finds these lines; `rank_conditions.py` splits the condition, `hoisting.py` moves the calls, and `hoistable.py`
decides whether that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Divergence
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import ancestors, below, holder_name, last_name
from trl_lint.domain.control import Uniformity
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.ranks import Origin
from trl_lint.fixes.support.blocks import StatementInBlock, enclosing_statement, own_line
from trl_lint.fixes.support.divergent_region import DivergentRegion, LeftToAuthor
from trl_lint.fixes.support.edits import FixPlan, NoFix
from trl_lint.fixes.support.hoisting import hoisted
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.rank_conditions import other_reads, shared_conjuncts, split, without
from trl_lint.fixes.support.scope import (
    always_reached,
    bound_names,
    bound_targets,
    contains,
    declared_names,
    leaves,
    scope_of,
)
from trl_lint.knowledge.heuristics import SHOWS, SWITCHES_MODE

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.sync_points import SyncPoint


def for_all_ranks(event: Divergence) -> FixPlan | NoFix:
    """The plan that makes all ranks execute the calls that a condition on the rank keeps some of them from."""
    if event.origins != Origin.RANK and event.by in (DividedBy.CONDITION, DividedBy.LOOP):
        return NoFix("the code does not show how the ranks should agree")
    if event.by is DividedBy.CASE:
        return NoFix("it is in one of several cases")
    if event.origins != Origin.RANK or event.by is DividedBy.SEQUENTIAL or not event.missing:
        return NoFix("the code before the call may not work on every rank")
    if not all(point.symmetric and point.certain for point in event.missing):
        return NoFix("this call may not work on every rank")
    if not all(_is_guarded_by(event.condition.node, point) for point in event.missing):
        return NoFix("the call depends on more than this condition")
    if not all(_has_no_other_effect(step) for point in event.missing for step in _helpers(point)):
        return NoFix("the function that makes the call does more, which may not be meant for all ranks")
    try:
        return hoisted(_region(event))
    except LeftToAuthor as left:
        return NoFix(str(left))


# --- the functions around the calls -----------------------------------------------------------------------


def _is_guarded_by(test: cst.CSTNode, point: SyncPoint) -> bool:
    """Whether the condition is the outermost one that keeps ranks from a call."""
    divergent = [each for each in point.control.conditions if each.uniformity is Uniformity.DIVERGENT]
    return not divergent or (divergent[0].provenance is not None and divergent[0].provenance.node is test)


def _helpers(point: SyncPoint) -> Iterator[Step]:
    """The call sites inside helpers, down to the call itself."""
    step = point.via
    while step is not None:
        yield step
        step = step.before


def _has_no_other_effect(step: Step) -> bool:
    """Whether a helper that makes the call has no other visible effect: it only computes, and shows."""
    around = [node for node in ancestors(step.module.tree, step.node) if isinstance(node, cst.FunctionDef)]
    if not around:
        return False
    function = around[-1]
    local_names = bound_names(function.body)
    stored = [each for each in bound_targets(function.body) if not isinstance(each, cst.Name)]
    expression_statements = [node.value for node in below(function.body) if isinstance(node, cst.Expr)]
    calls = [node for node in expression_statements if isinstance(node, cst.Call) and node is not step.node]
    named = ((call.func, last_name(call.func)) for call in calls)
    changed = [*stored, *(func for func, name in named if not (SHOWS.fits(name) or SWITCHES_MODE.fits(name)))]
    return not declared_names(function) and all(holder_name(each) in local_names for each in changed)


# --- what only some ranks reach ---------------------------------------------------------------------------


def _region(event: Divergence) -> DivergentRegion:
    """The lines that only some ranks reach.

    Raises:
        LeftToAuthor: they are not lines of one block, or all ranks may have to run them.
    """
    root = scope_of(event.function, event.module)
    test = event.condition.node
    around = ancestors(root, test)
    guard = around[-1] if around else None
    if isinstance(test, cst.BaseExpression) and isinstance(guard, (cst.IfExp, cst.BooleanOperation)):
        return _in_expression(event, test, guard)
    found = enclosing_statement(root, test)
    if not isinstance(test, cst.BaseExpression) or not isinstance(guard, cst.If):
        raise LeftToAuthor("there is no place before the condition")
    if found is None or found.statement is not guard:
        raise LeftToAuthor("there is no place before the condition")
    if event.after:
        return _after_guard(event, test, guard, found)
    return _in_branch(event, test, guard)


def _in_expression(
    event: Divergence, test: cst.BaseExpression, choice: cst.IfExp | cst.BooleanOperation
) -> DivergentRegion:
    """`gather(x) if main else None`, `main and gather(x)`: the line that contains it."""
    root = scope_of(event.function, event.module)
    line = own_line(root, choice)
    if line is None or not always_reached((line.statement, *ancestors(line.statement, choice)[1:]), choice):
        raise LeftToAuthor("there is no line to put the call before")
    if isinstance(choice, cst.BooleanOperation):
        holds = isinstance(choice.operator, cst.And)
    else:
        holds = contains(choice.body, event.missing[0].node)
    if shared_conjuncts(event, test, holds):
        raise LeftToAuthor("the call also depends on a part of the condition that is the same on all ranks")
    return _of_lines(event, test, line.statement, (line.statement,))


def _in_branch(event: Divergence, test: cst.BaseExpression, guard: cst.If) -> DivergentRegion:
    """The branch of an `if` that contains the calls."""
    holds = contains(guard.body, event.missing[0].node)
    branch = guard.body if holds else guard.orelse.body if guard.orelse is not None else None
    if not isinstance(branch, cst.IndentedBlock):
        raise LeftToAuthor("the call is not on a line of its own that could be moved")
    region = _of_lines(event, test, guard, branch.body)
    region.ends = not leaves(guard)
    shared = shared_conjuncts(event, test, holds)
    if shared:
        region.shared = split(guard, shared)
        rest_of_test = without(parts_of(test), shared)
        region.reads = frozenset(text for part in rest_of_test for text in other_reads(part, event.node_values))
    return region


def _after_guard(
    event: Divergence, test: cst.BaseExpression, guard: cst.If, line: StatementInBlock[cst.BaseStatement]
) -> DivergentRegion:
    """The lines after an `if` that returns."""
    if guard.orelse is not None or not _returns(guard.body) or _is_in_loop(line.around):
        raise LeftToAuthor("the code after it may be meant for all ranks")
    shared_conjuncts(event, test, False)
    return _of_lines(event, test, guard, line.siblings[line.index + 1 :])


def _of_lines(
    event: Divergence,
    test: cst.BaseExpression,
    guard: cst.If | cst.SimpleStatementLine,
    lines: Sequence[cst.BaseStatement],
) -> DivergentRegion:
    reads = frozenset(other_reads(test, event.node_values))
    called = {id(point.node): point for point in event.missing}
    root = scope_of(event.function, event.module)
    return DivergentRegion(event.module.tree, root, guard, test, reads, lines, called)


def _returns(body: cst.BaseSuite) -> bool:
    """Whether the last line of a block is a `return`."""
    last = body.body[-1] if isinstance(body, cst.IndentedBlock) else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)


def _is_in_loop(around: Path) -> bool:
    return any(isinstance(node, (cst.For, cst.While)) for node in around)

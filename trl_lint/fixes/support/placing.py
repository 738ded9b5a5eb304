"""Where to put a reduction: in place of the logged value, or before the condition on the rank around it."""

from __future__ import annotations

from itertools import dropwhile, takewhile
from typing import TypeAlias

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import ancestors, below, is_literal_none, last_name, used_names
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import Origin, State
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement, own_line
from trl_lint.fixes.support.divergent_region import LeftToAuthor
from trl_lint.fixes.support.edits import Edit, FixPlan, Insert, NoFix, Part, Reduced, Replace
from trl_lint.fixes.support.logged import Gathered, LogSite, identifier
from trl_lint.fixes.support.policy import DIVERGENT, NOT_KNOWN, conditions_with
from trl_lint.fixes.support.rank_conditions import split
from trl_lint.fixes.support.scope import binders, binds, contains, free_name, is_before, is_pure, may_change_objects
from trl_lint.fixes.support.set_anew import sets_anew
from trl_lint.fixes.support.tree import call_of, method_call, text_of

_EVERY_ITERATION = "it is gathered before the condition, in every iteration, so that all ranks take part"
_REST_HOLDS = "it is gathered whenever the rest of the condition holds, so that all ranks take part"
# More lines are not indented again.
_FEW = 12
# Statements before which a value can be gathered: all ranks reach them, but not all enter them.
_Guard: TypeAlias = cst.If | cst.For


def placed(place: LogSite, found: Gathered) -> FixPlan | NoFix:
    """The plan to write new code where the value is logged, or before the guard that keeps some ranks from there."""
    control: Control = place.payload.control
    guard = _outermost_guard(place, control.conditions)
    if isinstance(guard, NoFix):
        return guard
    if guard is not None:
        return _before_guard(place, found, guard)
    replacing = [Replace(node, by) for node, by in found.replaced]
    edits: list[Edit] = [*replacing]
    reduced = () if found.lines else tuple(_shareable(place, found, edit) for edit in replacing)
    if found.lines:
        target = own_line(place.root, place.statement)
        if target is None:
            return NoFix("there is no line before which the sums could be added up")
        if not is_pure(place.payload.expression) or _changes_something(target.statement):
            return NoFix("the statement does more than log it")
        edits += [Insert(target.statement, line, root=place.root, below_comments=True) for line in found.lines]
    caution = NOT_KNOWN if control.uniformity else "a Python number becomes a tensor" * found.is_number
    return FixPlan((*edits, *found.imports), reduced, caution, conditions_with(control, Uniformity.UNKNOWN))


def _changes_something(statement: cst.BaseStatement) -> bool:
    """Whether a statement binds a name or changes an object while it is evaluated."""
    inner = [node for node in below(statement) if isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield))]
    in_place = [node for node in below(statement) if isinstance(node, cst.Call) and may_change_objects(node)]
    return bool(inner or in_place)


def _outermost_guard(place: LogSite, conditions: tuple[Control, ...]) -> _Guard | NoFix | None:
    """The `if` or `for` before which the value has to be gathered; None if it can be gathered where it is."""
    divergent = [index for index, each in enumerate(conditions) if each.uniformity is Uniformity.DIVERGENT]
    if not divergent:
        return None
    inside = conditions[divergent[0] :]
    if any(each.uniformity is Uniformity.DIVERGENT and each.rank.state is State.SAME for each in inside):
        return NoFix("ranks get here one after the other")
    others = [
        each for each in inside if each.uniformity is not Uniformity.DIVERGENT or each.rank.origins != Origin.RANK
    ]
    if others:
        reason = f"{DIVERGENT}, and that depends on more than the rank"
        return NoFix(reason, conditions=tuple(each.provenance for each in others if each.provenance is not None))
    test = conditions[divergent[0]].provenance.node
    around = ancestors(place.root, test)
    guards = [node for node in around if isinstance(node, (cst.For, cst.If, cst.While, cst.IfExp))]
    guard = guards[-1] if guards else None
    if not isinstance(guard, (cst.If, cst.For)):
        return NoFix("not all ranks call the function that logs it")
    while isinstance(outer := around[around.index(guard) - 1], cst.If):
        guard = outer  # nothing can be put before an `elif`
    return guard


def guard_of(place: LogSite) -> _Guard | NoFix | None:
    """The `if` or `for` that keeps some ranks from a log; None if there is none."""
    return _outermost_guard(place, place.payload.control.conditions)


def _test_of(guard: _Guard) -> cst.BaseExpression:
    """The expression that decides whether the block of an `if` or a `for` is entered."""
    return guard.test if isinstance(guard, cst.If) else guard.iter


def _before_guard(place: LogSite, found: Gathered, guard: _Guard) -> FixPlan | NoFix:
    """The plan to reduce before the guard, which all ranks reach, and to log the result."""
    reason = _why_not_before(place, found, guard)
    if reason:
        return NoFix(reason)
    lines = list(found.lines)
    edits: list[Edit] = []
    for node, by in found.replaced:
        if found.lines:
            edits.append(Replace(node, by))
            continue
        reduced = _as_tensor(found, by)
        name = free_name(place.root, _reduced_name(node, found.reduction, place.what))
        lines.append(f"{name} = {text_of(reduced)}")
        edits.append(Replace(node, call_of(cst.Name(name), "item") if found.ends_here else cst.Name(name)))
    edits += [Insert(guard, line, root=place.root) for line in lines]
    part = _split_by_rank(place, guard)
    if part is not None:
        return FixPlan((*edits, part, *found.imports), caution=_REST_HOLDS)
    return FixPlan((*edits, *found.imports), caution=_EVERY_ITERATION)


def _split_by_rank(place: LogSite, guard: _Guard) -> Part | None:
    """The split of a condition around a few lines into what is the same on all ranks and what tests the rank."""
    if not isinstance(guard, cst.If) or not contains(guard.body, place.statement):
        return None
    if text_of(guard.body).count("\n") > _FEW:
        return None
    values = [(part, place.value_of(part)) for part in parts_of(guard.test)]
    shared = [part for part, value in values if value is not None and value.rank.state is State.SAME]
    others = [value for part, value in values if part not in shared]
    if not shared or any(value is None or value.rank.origins != Origin.RANK for value in others):
        return None
    try:
        return split(guard, shared)
    except LeftToAuthor:
        return None


def _as_tensor(found: Gathered, by: cst.BaseExpression) -> cst.BaseExpression:
    """The new code without its final `.item()`, if it has one."""
    method = method_call(by) if found.ends_here else None
    return by if method is None else method.receiver


def _shareable(place: LogSite, found: Gathered, edit: Replace) -> Reduced:
    """What an edit reduces, for other statements that log the same."""
    tensor = _as_tensor(found, edit.by)
    return Reduced(place.root, edit, tensor, _reduced_name(edit.node, found.reduction, place.what))


def _why_not_before(place: LogSite, found: Gathered, guard: _Guard) -> str:
    """Why the logged value can't be gathered before a guard; "" if it can."""
    data = set().union(*(used_names(node) for node, _ in found.replaced)) - {"self"}
    names = data | (used_names(place.accelerator) if place.payload.accelerator else set())
    line = enclosing_statement(place.root, guard)
    if line is None or line.statement is not guard:
        return "there is no place before the condition"
    if not is_before(place.root, guard, place.statement):
        return "it is computed before the condition"
    if data & used_names(_test_of(guard)):
        return "the condition depends on what is logged"
    around = ancestors(place.root, place.statement)
    between = around[around.index(guard) + 1 :] if guard in around else ()
    if any(isinstance(node, (cst.For, cst.While, cst.Try)) or _tests_any_of(node, data) for node in between):
        return "there is more than a condition on the rank around the log"
    if any(not certainly_bound(place.root, name, guard) or may_be_none(place.root, name) for name in names):
        return "what is logged is not computed on all ranks before the condition"
    if not all(is_pure(node) for node, _ in found.replaced):
        return "what is logged is computed by a call that may do more"
    before = _lines_between(place, guard)
    if any(binders(node, names) or may_change_objects(node) for node in before):
        return "what is logged is computed under the condition"
    if sets_anew(place.root, guard, [guard.body], [node for node, _ in found.replaced]):
        return "only some ranks would set anew what is logged"
    return ""


def may_be_none(root: cst.CSTNode, name: str) -> bool:
    """Whether a name is bound to None somewhere, so that it may have no value yet."""
    assigned = [node for node in below(root) if isinstance(node, cst.Assign)]
    none = (node for node in assigned if is_literal_none(node.value))
    return any(name in binds(target) for node in none for target in node.targets)


def _lines_between(place: LogSite, guard: _Guard) -> list[cst.SimpleStatementLine]:
    """The simple statements from a guard up to the one that logs."""
    line = own_line(place.root, place.statement)
    end = place.statement if line is None else line.statement
    behind = dropwhile(lambda node: node is not guard, below(place.root))
    between = takewhile(lambda node: node is not end, behind)
    return [node for node in between if isinstance(node, cst.SimpleStatementLine)]


def _tests_any_of(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether a condition may check whether the logged value exists at all."""
    if isinstance(node, cst.Match):
        return True
    return isinstance(node, cst.If) and bool(names & used_names(node.test))


def _reduced_name(node: cst.BaseExpression, reduction: str, what: str) -> str:
    """`mean_loss` for `loss` gathered and averaged."""
    base = base_name(node) or identifier(what) or "metric"
    return base if base.startswith(f"{reduction}_") else f"{reduction}_{base}"


def base_name(node: cst.BaseExpression) -> str:
    """The name of what an expression is about: `loss` for `self.loss.mean().item()`; "" if it has none."""
    inner = node
    while (method := method_call(inner)) is not None:
        is_function = isinstance(method.receiver, cst.Name) and method.receiver.value in ("torch", "np")
        inner = method.args[0].value if is_function and method.args else method.receiver
    return last_name(inner)

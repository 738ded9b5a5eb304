"""Where a reduction is put: in place of what is logged, or before the condition on the rank around it."""

from __future__ import annotations

from itertools import dropwhile, takewhile
from typing import Any

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors
from trl_lint.domain.control import Control
from trl_lint.domain.ranks import Origin, State
from trl_lint.fixes.policy import NOT_KNOWN
from trl_lint.fixes.support.blocks import certainly_bound, enclosing_statement, own_line
from trl_lint.fixes.support.edits import Edit, FixPlan, Insert, NoFix, Reduced, Replace
from trl_lint.fixes.support.logged import Gathered, LogSite, identifier
from trl_lint.fixes.support.scope import (
    binders,
    binds,
    free_name,
    is_before,
    is_pure,
    last_name,
    may_change_objects,
    nodes,
    used_names,
)
from trl_lint.fixes.support.tree import call_of, method_call


def placed(place: LogSite, found: Gathered) -> FixPlan | NoFix:
    control: Control = place.payload.control
    guard = _outermost_guard(place, control.conditions)
    if isinstance(guard, NoFix):
        return guard
    if guard is not None:
        return _before_guard(place, found, guard)
    edits: list[Edit] = [Replace(node, by) for node, by in found.replaced]
    reduced = () if found.lines else tuple(_shareable(place, found, edit) for edit in edits)
    if found.lines:
        target = own_line(place.root, place.statement)
        if target is None:
            return NoFix("there is no line of its own before which the sums could be added up")
        if not is_pure(place.payload.expression) or _changes_something(target[0]):
            return NoFix("the statement does more than to log it")
        edits += [Insert(target[0], line, root=place.root) for line in found.lines]
    caution = NOT_KNOWN if control.level else "a Python number becomes a tensor in between" * found.is_number
    return FixPlan((*edits, *found.imports), reduced, caution)


def _changes_something(statement: Any) -> bool:
    """Whether a statement binds a name or changes an object while it is evaluated."""
    inner = [node for node in nodes(statement) if isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield))]
    in_place = [node for node in nodes(statement) if isinstance(node, cst.Call) and may_change_objects(node)]
    return bool(inner or in_place)


def _outermost_guard(place: LogSite, conditions: tuple[Control, ...]) -> Any:
    """The `if` or `for` before which the value has to be gathered; None when it can be gathered where it is."""
    divergent = [index for index, each in enumerate(conditions) if each.level == 2]
    if not divergent:
        return None
    inside = conditions[divergent[0] :]
    if any(each.level == 2 and each.rank.state is State.SAME for each in inside):
        return NoFix("one rank after the other gets here")
    if any(each.level != 2 or each.rank.origins != Origin.RANK for each in inside):
        return NoFix("not all ranks may get here together, and more than the rank decides on that")
    test = conditions[divergent[0]].why.node
    around = ancestors(place.root, test)
    guards = [node for node in around if isinstance(node, (cst.For, cst.If, cst.While, cst.IfExp))]
    if not guards or _asked_by(guards[-1]) is None:
        return NoFix("not all ranks call the function that logs it")
    guard = guards[-1]
    while len(around) > 1 and (outer := around[around.index(guard) - 1]) and isinstance(outer, cst.If):
        guard = outer  # an `elif` has no place before it
    return guard


def _asked_by(guard: Any) -> Any:
    """What decides who gets into the block of an `if` or a `for`; None for anything else."""
    return guard.test if isinstance(guard, cst.If) else getattr(guard, "iter", None)


def _before_guard(place: LogSite, found: Gathered, guard: Any) -> FixPlan | NoFix:
    """The reduction stands before the guard, where all ranks get to; what is logged is its result."""
    reason = _why_not_before(place, found, guard)
    if reason:
        return NoFix(reason)
    code = cst.Module([]).code_for_node
    lines = list(found.lines)
    edits: list[Edit] = []
    for node, by in found.replaced:
        if found.lines:
            edits.append(Replace(node, by))
            continue
        reduced = _as_tensor(found, by)
        name = free_name(place.root, _reduced_name(node, found.reduction, place.what))
        lines.append(f"{name} = {code(reduced)}")
        edits.append(Replace(node, call_of(cst.Name(name), "item") if found.ends_here else cst.Name(name)))
    edits += [Insert(guard, line, root=place.root) for line in lines]
    caution = "it is gathered before the condition, in every round, so that all ranks take part"
    return FixPlan((*edits, *found.imports), caution=caution)


def _as_tensor(found: Gathered, by: Any) -> Any:
    return by.func.value if found.ends_here else by


def _shareable(place: LogSite, found: Gathered, edit: Any) -> Reduced:
    tensor = _as_tensor(found, edit.by)
    return Reduced(place.root, edit, tensor, _reduced_name(edit.node, found.reduction, place.what))


def _why_not_before(place: LogSite, found: Gathered, guard: Any) -> str:
    data = set().union(*(used_names(node) for node, _ in found.replaced)) - {"self"}
    names = data | (used_names(place.accelerator) if place.payload.accelerator else set())
    if enclosing_statement(place.root, guard) is None or enclosing_statement(place.root, guard)[0] is not guard:  # type: ignore[index]
        return "there is no place before the condition"
    if not is_before(place.root, guard, place.statement):
        return "it is computed before the condition"
    if data & used_names(_asked_by(guard)):
        return "the condition asks for what is logged"
    around = ancestors(place.root, place.statement)
    between = around[around.index(guard) + 1 :] if guard in around else ()
    if any(isinstance(node, (cst.For, cst.While, cst.Try)) or _asks_for(node, data) for node in between):
        return "more than the rank's condition stands between all ranks and the log"
    if any(not certainly_bound(place.root, name, guard) or may_be_none(place.root, name) for name in names):
        return "what is logged is not computed on all ranks before the condition"
    if not all(is_pure(node) for node, _ in found.replaced):
        return "what is logged is computed by a call that may do more"
    before = _until(place, guard)
    if any(binders(node, names) or may_change_objects(node) for node in before):
        return "what is logged is computed under the condition"
    return ""


def may_be_none(root: Any, name: str) -> bool:
    """Whether a name is bound to None somewhere, so that it may have no value yet."""
    assigned = [node for node in nodes(root) if isinstance(node, cst.Assign)]
    none = (node for node in assigned if isinstance(node.value, cst.Name) and node.value.value == "None")
    return any(name in binds(target) for node in none for target in node.targets)


def _until(place: LogSite, guard: Any) -> list[Any]:
    """The simple statements from a guard up to the one that logs."""
    own = own_line(place.root, place.statement)
    end = place.statement if own is None else own[0]
    behind = dropwhile(lambda node: node is not guard, nodes(place.root))
    between = takewhile(lambda node: node is not end, behind)
    return [node for node in between if isinstance(node, cst.SimpleStatementLine)]


def _asks_for(node: Any, names: set[str]) -> bool:
    """Whether a condition may be there to tell whether what is logged has a value at all."""
    if isinstance(node, cst.Match):
        return True
    return isinstance(node, cst.If) and bool(names & used_names(node.test))


def _reduced_name(node: Any, reduction: str, what: str) -> str:
    """`mean_loss` for `loss` gathered and averaged."""
    base = base_name(node) or identifier(what) or "metric"
    return base if base.startswith(f"{reduction}_") else f"{reduction}_{base}"


def base_name(node: Any) -> str:
    """What an expression is about, as a name: `loss` for `self.loss.mean().item()`; "" for what has none."""
    own = node
    while (method := method_call(own)) is not None:
        is_function = isinstance(method[0], cst.Name) and method[0].value in ("torch", "np") and own.args
        own = own.args[0].value if is_function else method[0]
    return last_name(own)

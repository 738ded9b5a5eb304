"""Whether a call that only some ranks reach can be made by all of them before the condition, with the same result."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, children, last_name, used_names
from trl_lint.fixes.support.blocks import certainly_bound
from trl_lint.fixes.support.divergent_region import DivergentRegion, LeftToAuthor
from trl_lint.fixes.support.placing import may_be_none
from trl_lint.fixes.support.scope import (
    always_reached,
    binders,
    bound_names,
    bound_targets,
    contains,
    declared_names,
    is_pure,
    may_change_objects,
    names_spelled,
    root_name,
    works_in_place,
)
from trl_lint.fixes.support.set_anew import overlap, reads_of, sets_anew
from trl_lint.fixes.support.tree import has_comment
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import COMPUTES_ONLY, SHOWS
from trl_lint.knowledge.schema import Function, Transfer


class Inputs(NamedTuple):
    """The inputs of a call: the names it reads, and the lines under the condition that compute them, last first."""

    names: set[str]
    producers: list[cst.SimpleStatementLine]


def inputs_of(region: DivergentRegion, index: int, call: cst.Call) -> Inputs:
    """The inputs of a call in the region, which are the same before the condition once the producers are moved there.

    Raises:
        LeftToAuthor: an input may differ there, or computing it may have other effects.
    """
    if not all(_is_plain(region, arg.value) for arg in call.args):
        raise LeftToAuthor("an argument is computed by a call that may do more")
    names = {name for each in _operands(region, call) for name in used_names(each)}
    producers: list[cst.SimpleStatementLine] = []
    for line in reversed(region.lines[:index]):
        if region.is_moved(line):
            continue
        if binders(line, names):
            producers.append(_producer(region, line))
            names |= used_names(line)
        elif not _does_not_change(line, names):
            raise LeftToAuthor("an argument may be changed under the condition")
    reads = {text for each in (*_operands(region, call), *producers) for text in reads_of(each)}
    if any(overlap(one, other) for one in reads for other in region.reads):
        raise LeftToAuthor("the condition depends on an argument")
    return Inputs(names, producers)


def check_bound(region: DivergentRegion, names: set[str]) -> None:
    """Check that these names have a value before the condition on every rank, once the moved lines are there."""
    moved_names = {name for line in region.moved for name in bound_names(line)}
    for name in names - moved_names - {"self"}:
        if not certainly_bound(region.root, name, region.guard) or may_be_none(region.root, name):
            raise LeftToAuthor("an argument may have no value on some ranks")


def check_kept(region: DivergentRegion, index: int, call: cst.Call) -> None:
    """Check that no line behind a call that stays under the condition sets anew what the call reads.

    `losses = []` behind `accelerator.gather(losses)` in a loop: the other ranks would go on with all losses so far.
    """
    behind = [line for line in region.lines[index + 1 :] if not region.is_moved(line)]
    if sets_anew(region.root, region.guard, behind, _operands(region, call)):
        raise LeftToAuthor("only some ranks would set anew what it reads")


def check_order(region: DivergentRegion, line: cst.SimpleStatementLine, call: cst.Call) -> None:
    """Check that a call is always made in its line, and that nothing before it in the line has an effect."""
    entered = ancestors(line, region.test)[-1] if region.guard is line else line
    inside = ancestors(entered, call)[1:]
    if not contains(entered, call) or (inside and not always_reached(inside, call)):
        raise LeftToAuthor("the call depends on more than this condition")
    exempt = {id(each) for each in ancestors(line, call)} | region.called.keys()
    for node in below(line):
        if node is call:
            return
        if isinstance(node, cst.NamedExpr) or (
            isinstance(node, cst.Call) and id(node) not in exempt and not (_only_computes(node) or _unwraps(node))
        ):
            raise LeftToAuthor("code before it on the line may have to come first")


def check_removable(region: DivergentRegion) -> None:
    """Check that an `if` that is removed with its last line takes nothing else with it."""
    guard = region.guard
    if not isinstance(guard, cst.If) or len(region.moved) < len(region.lines):
        return
    if any(_may_have_other_effects(region, node) for node in below(guard.test) if isinstance(node, cst.Call)):
        raise LeftToAuthor("the condition calls a function that may do more")
    if region.shared is not None:
        return
    if has_comment(guard.test):
        raise LeftToAuthor("there is a comment in the condition")
    if guard.orelse is not None or _has_comment_of_its_own(guard.body):
        raise LeftToAuthor("the call is all that is under the condition")


def is_private(region: DivergentRegion, line: cst.SimpleStatementLine) -> bool:
    """Whether a line binds one name that nothing outside the region reads or binds."""
    match line.body:
        case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]), *_]:
            inside = sum(len(names_spelled(each, name)) for each in region.lines)
            return inside == len(names_spelled(region.root, name)) and len(binders(region.root, [name])) == 1
    return False


# --- the inputs of a call ---------------------------------------------------------------------------------


def _operands(region: DivergentRegion, call: cst.Call) -> list[cst.CSTNode]:
    """What a call reads: its arguments, and the object whose method it is, unless that is the one of a collective."""
    values: list[cst.CSTNode] = [arg.value for arg in call.args]
    inner = [each for value in values for each in below(value) if isinstance(each, cst.Call)]
    collectives = [each for each in inner if id(each) in region.called and region.called[id(each)].via is None]
    if region.called[id(call)].via is not None:
        values.append(call.func.value if isinstance(call.func, cst.Attribute) else call.func)
    receivers = {id(each.func) for each in collectives}
    return [each for value in values for each in _parts_without(value, receivers)]


def _parts_without(node: cst.CSTNode, left_out: Container[int]) -> list[cst.CSTNode]:
    """The node, or its parts without the excluded nodes below it."""
    if id(node) in left_out:
        return []
    if not any(id(each) in left_out for each in below(node)):
        return [node]
    return [each for child in children(node) for each in _parts_without(child, left_out)]


def _producer(region: DivergentRegion, line: cst.BaseStatement) -> cst.SimpleStatementLine:
    """The line that computes an input of a call, if it can be moved with the call."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Assign(value=value)]) if is_private(region, line) and _is_plain(
            region, value
        ):
            return line
    raise LeftToAuthor("an argument is created under the condition")


# --- side effects of code ---------------------------------------------------------------------------------


def _is_plain(region: DivergentRegion, node: cst.CSTNode) -> bool:
    """Whether an expression only computes: its calls are pure, or all ranks have to make them anyway."""
    inside = list(below(node))
    if any(isinstance(each, (cst.NamedExpr, cst.Await, cst.Yield)) for each in inside):
        return False
    return all(id(each) in region.called or _only_computes(each) for each in inside if isinstance(each, cst.Call))


def _only_computes(call: cst.Call) -> bool:
    """Whether a function, whatever its arguments do, only computes something new."""
    if works_in_place(call):
        return False
    return COMPUTES_ONLY.fits(root_name(call.func)) or is_pure(call.with_changes(args=[]))


def _unwraps(call: cst.Call) -> bool:
    """Whether it is a library's method that only looks up the bare model."""
    name = last_name(call.func)
    rows = library.rows(f"{library.unique_method(name)}.{name}")
    return any(isinstance(row, Function) and row.returns == Transfer.UNWRAPPED for row in rows)


def _does_not_change(line: cst.BaseStatement, names: set[str]) -> bool:
    """Whether a line that stays does not change the objects of these names."""
    if may_change_objects(line):
        return not names & used_names(line)
    calls = [node for node in below(line) if isinstance(node, cst.Call) and names & used_names(node)]
    return all(SHOWS.fits(last_name(call.func)) or _only_computes(call) for call in calls)


def _may_have_other_effects(region: DivergentRegion, call: cst.Call) -> bool:
    """Whether a call in a removed condition may have had other effects."""
    name = last_name(call.func)
    functions = [node for node in below(region.tree) if isinstance(node, cst.FunctionDef) and node.name.value == name]
    return any(not _has_no_effect(function) for function in functions)


def _has_no_effect(function: cst.FunctionDef) -> bool:
    """Whether a function changes nothing: it binds only local names, and calls nothing for its effect."""
    stored = any(not isinstance(each, cst.Name) for each in bound_targets(function.body))
    expression_statements = (node.value for node in below(function.body) if isinstance(node, cst.Expr))
    return (
        not stored
        and not declared_names(function)
        and not any(isinstance(each, cst.Call) for each in expression_statements)
    )


def _has_comment_of_its_own(body: cst.BaseSuite) -> bool:
    """Whether there is a comment after the colon of a block, or below its last line."""
    if not isinstance(body, cst.IndentedBlock):
        return False
    return body.header.comment is not None or any(each.comment is not None for each in body.footer)

"""Which part of a condition identifies the rank, and what else it tests.

`if due and accelerator.is_main_process:` is split: all ranks still test `if due:`, and only what is for the main
process stays under the rest. On one process, the part about the rank is always true, or always false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Divergence
from trl_lint.analysis.interpreter.conditions.conditions import on_single_process
from trl_lint.analysis.program.idioms.path_conditions import parts_of
from trl_lint.analysis.program.syntax import below, children
from trl_lint.domain.kinds import library_name_of
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.divergent_region import LeftToAuthor
from trl_lint.fixes.support.edits import Part
from trl_lint.fixes.support.scope import dotted, is_pure, root_name
from trl_lint.fixes.support.tree import has_comment, text_of, without_parentheses

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.domain.sync_points import SyncPoint

# Collectives that have no effect on a single process.
_WITHOUT_EFFECT = frozenset({"barrier", "broadcast", "gathered", "objects", "padded", "reduced"})


def shared_conjuncts(event: Divergence, test: cst.BaseExpression, holds: bool) -> list[cst.BaseExpression]:
    """The parts of a condition to keep around code that only some ranks reach if the condition is `holds`.

    On one process, the part about the rank lets it through: without it, the code does the same as before.

    Raises:
        LeftToAuthor: the value of the condition on one process, or of its other parts, is unknown or differs.
    """
    if any(isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)) for node in below(test)):
        raise LeftToAuthor("the condition does more than test something")
    parts = parts_of(test) if holds else [test]
    answers = [_on_one_process(event.node_values, part) for part in parts]
    if any(
        answer is None and _reads_rank(event.node_values, part) for part, answer in zip(parts, answers, strict=True)
    ):
        raise LeftToAuthor("the call also depends on the rest of the condition")
    if all(answer is None for answer in answers):  # not the value differs between ranks, but whether it is empty
        raise LeftToAuthor("it is not known whether the condition holds on one process")
    if not all(answer is None or answer is holds for answer in answers):
        _check_without_effect(event, parts)
    return [part for part, answer in zip(parts, answers, strict=True) if answer is None]


def split(guard: cst.If, shared: Sequence[cst.BaseExpression]) -> Part:
    """Split an `if` into what all ranks test, and what distinguishes them.

    Raises:
        LeftToAuthor: it can't be written as two conditions that test the same in the same order.
    """
    if guard.orelse is not None:
        raise LeftToAuthor("the condition has an `else`")
    if has_comment(guard.test):
        raise LeftToAuthor("there is a comment in the condition")
    all_of = parts_of(guard.test)
    rank_parts = without(all_of, shared)
    first = next(index for index, part in enumerate(all_of) if part is rank_parts[0])
    if not all(is_pure(part) for part in all_of[first:] if not _is_one_of(part, rank_parts)):
        raise LeftToAuthor("the rest of the condition may have side effects")
    return Part(guard, _only(guard.test, shared), _only(guard.test, rank_parts))


def without(parts: Sequence[cst.BaseExpression], others: Sequence[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """The parts of a condition that are none of the others."""
    return [part for part in parts if not _is_one_of(part, others)]


def other_reads(node: cst.CSTNode, seen: Mapping[int, Value]) -> Iterator[str]:
    """What a condition reads, as `a.b.c`, without the attributes and methods that identify the rank."""
    value = seen.get(id(node))
    is_about_rank = value is not None and value.kind is Kind.NUMBER and value.rank.origins == Origin.RANK
    if isinstance(node, cst.Attribute) and is_about_rank:
        return
    text = dotted(node)
    if text:
        yield text
        return
    parts = [arg.value for arg in node.args] if isinstance(node, cst.Call) and is_about_rank else children(node)
    for part in parts:
        yield from other_reads(part, seen)


def _is_one_of(part: cst.BaseExpression, others: Sequence[cst.BaseExpression]) -> bool:
    return any(part is each for each in others)


def _on_one_process(seen: Mapping[int, Value], test: cst.BaseExpression) -> bool | None:
    """The value of a condition if there is only one process; None if it does not depend on the rank alone.

    Raises:
        LeftToAuthor: apart from the rank, it is not known to be the same on all ranks.
    """
    if isinstance(test, cst.BooleanOperation):
        answers = [_on_one_process(seen, test.left), _on_one_process(seen, test.right)]
        decisive = isinstance(test.operator, cst.Or)
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _on_one_process(seen, test.expression)
        return None if inner is None else not inner
    value = seen.get(id(test))
    if value is None or not (value.rank.state is State.SAME or on_single_process(value)):
        raise LeftToAuthor("it is not known whether the condition holds on one process")
    answer = on_single_process(value)
    return None if answer is None else bool(answer.value)


def _reads_rank(seen: Mapping[int, Value], test: cst.BaseExpression) -> bool:
    """Whether a condition depends on the rank at all."""
    if isinstance(test, cst.BooleanOperation):
        return _reads_rank(seen, test.left) or _reads_rank(seen, test.right)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _reads_rank(seen, test.expression)
    return seen[id(test)].rank.differs


def _check_without_effect(event: Divergence, parts: Sequence[cst.BaseExpression]) -> None:
    """If one process skips the code today, check that the collectives have no effect on one process."""
    plain = all(each.via is None and each.kind in _WITHOUT_EFFECT for each in event.missing)
    mixed = any(isinstance(node, cst.BooleanOperation) for part in parts for node in below(part))
    if not plain or mixed:
        raise LeftToAuthor("one process skips this today, and would run it")
    if any(_needs_group(event.module, each) for each in event.missing):
        raise LeftToAuthor("one process skips this today, and may have no process group")


def _needs_group(module: Module, point: SyncPoint) -> bool:
    """Whether a call fails without a process group, which the file may not start: it is one of torch's own."""
    name = root_name(point.node.func) if isinstance(point.node, cst.Call) else ""
    is_torch_s = library_name_of(module.names.get(name)).partition(".")[0] == "torch"
    return is_torch_s and not module.mentions(rb"\binit_process_group\b")


def _only(test: cst.BaseExpression, kept: Sequence[cst.BaseExpression]) -> cst.BaseExpression:
    """A condition with only some of its conjuncts."""
    rest = _remaining_condition(test, kept)
    assert rest is not None  # there is at least one of them
    return without_parentheses(rest)


def _remaining_condition(test: cst.BaseExpression, kept: Sequence[cst.BaseExpression]) -> cst.BaseExpression | None:
    """What is left of a condition; None if nothing is."""
    if not (isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And)):
        return test if _is_one_of(test, kept) else None
    left, right = _remaining_condition(test.left, kept), _remaining_condition(test.right, kept)
    if left is not None and right is not None:
        return test.with_changes(left=left, right=right)
    only = left if right is None else right
    if only is None or only.lpar or not (isinstance(only, cst.BooleanOperation) or "\n" in text_of(only)):
        return only
    return only.with_changes(lpar=test.lpar, rpar=test.rpar)  # otherwise it may no longer be one expression

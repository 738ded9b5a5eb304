"""Conditions on the rank that divide no ranks, as others decide for all that get there which branch they take.

For example:

    if rank != 0:
        barrier()
    else:
        save()
        if local_rank == 0: barrier()       only the first rank gets here, and it is the first one on its machine

    if not main: return
    if main: barrier()                      the others have left

The first rank of a machine need not be the first one of all: `if local_rank == 0:` decides nothing for `if rank == 0:`.

And places in a branch to which a setting lets all ranks, or none:

    if main and cached: load()
    elif not cached: barrier()              wherever it holds, no rank has taken the first branch
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import (
    Condition,
    alternatives,
    branch_of,
    comes_after,
    conditions_implied_by,
    ifs_around,
    is_bound_once,
    outcomes_of_parts,
    parts_of,
)
from trl_lint.analysis.program.idioms.path_constraints import can_hold_together, constraints_on_path
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.transfer.processes.main_process_tests import is_of_machine
from trl_lint.domain import ranks
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.ranks import Rank
from trl_lint.knowledge.heuristics import MAIN_PROCESS, RANK_NUMBER

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import Branch
    from trl_lint.domain.sync_points import SyncPoint

_Arms: TypeAlias = "tuple[Sequence[SyncPoint], Sequence[SyncPoint]]"


def is_decided_before(frame: Frame, test: cst.CSTNode, others: Iterable[Branch]) -> bool:
    """Whether all ranks that reach a condition take the same branch: the others have left at an earlier test of it."""
    root, branch = frame.root, branch_of(frame.root, test)
    conditions = conditions_implied_by(branch.test, True) if branch is not None else []
    if branch is None or len(conditions) != 1 or not is_bound_once(root, conditions[0].test):
        return False
    for other in others:
        before = branch_of(root, other.test)
        if before is None or before is branch or all(other.through) or not comes_after(root, before, branch):
            continue
        remaining = conditions_implied_by(before.test, other.through[0])
        if any(each.test.deep_equals(conditions[0].test) for each in remaining):
            return True
    return False


def not_met_by_all(frame: Frame, branch: Branch, arms: _Arms) -> _Arms:
    """The synchronisation points of the branches of a condition, without those that all ranks reach or none does.

    Forwards that compute no gradients only send buffers: in an evaluation of each row of a rank's share, most models
    have none, or the next training step makes up for them.
    """
    test = branch.test
    if branch.by is DividedBy.SHARE:
        arms = [each for each in arms[0] if each.kind != "forward" or each.grad], arms[1]
    if not any(arms) or branch_of(frame.root, test) is None:
        return arms
    places = {id(each.node): each.node for arm in arms for each in arm}
    settled = {key for key, place in places.items() if _is_settled_at(frame, test, place)}
    one, other = ([each for each in arm if id(each.node) not in settled] for arm in arms)
    return one, other


def _is_settled_at(frame: Frame, test: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a rank gets to a place in a branch only where all ranks take this branch: what it takes is of all."""
    around = [Condition(each.test, holds) for each, holds in ifs_around(frame.root, place)]
    outer = next((index for index, each in enumerate(around) if each.test is test), None)
    if outer is None or outer == len(around) - 1:
        return False
    nested = (part for each in around[outer + 1 :] for part in outcomes_of_parts(each))
    of_all = [each for each in nested if _may_be_of_all(frame.value_of(each.test).rank.as_condition)]
    other_branch = Condition(around[outer].test, not around[outer].holds)
    return bool(of_all) and not can_hold_together(frame.root, [other_branch, *of_all])


def _may_be_of_all(rank: Rank) -> bool:
    return not rank.differs and rank != ranks.GUARDED


def outcome_on_first(frame: Frame, test: cst.CSTNode) -> bool | None:
    """The outcome of a test of the rank where only the first rank gets to it; None if others may get there."""
    outcome = _outcome(frame, test)
    if outcome is None:
        return None
    deciding = [part for each in constraints_on_path(frame.root, test) for part in _kept_to_first(frame, each)]
    return outcome if any(is_of_machine(test) or not is_of_machine(each) for each in deciding) else None


def _kept_to_first(frame: Frame, constraint: Condition) -> list[cst.BaseExpression]:
    """The parts of a test that let only the first rank through, if it has this outcome."""
    parts = parts_of(constraint.test) if constraint.holds else alternatives(constraint.test)
    return [each for each in parts if _outcome(frame, each) is constraint.holds]


def _outcome(frame: Frame, test: cst.CSTNode) -> bool | None:
    """The outcome that a test has on the first rank alone; None if it is no such test."""
    return _on_first_alone(test) if frame.value_of(test).rank.is_by_rank else None


# The outcome on the first rank alone, by the operator and the number with which the rank is compared.
_COMPARED: dict[tuple[type[cst.CSTNode], int], bool] = {
    (cst.Equal, 0): True,
    (cst.LessThan, 1): True,
    (cst.LessThanEqual, 0): True,
    (cst.NotEqual, 0): False,
    (cst.GreaterThan, 0): False,
    (cst.GreaterThanEqual, 1): False,
}


def _on_first_alone(test: cst.CSTNode) -> bool | None:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=negated):
            outcome = _on_first_alone(negated)
            return None if outcome is None else not outcome
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=operator, comparator=cst.Integer() as number)]):
            return _COMPARED.get((type(operator), number.evaluated_value))
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.In() | cst.NotIn() as operator,
                    comparator=cst.List() | cst.Set() | cst.Tuple() as among,
                )
            ]
        ):
            return isinstance(operator, cst.In) if _is_first_or_none(among) else None
        case cst.Name() | cst.Attribute() | cst.Call(args=[]):
            name = last_name(test.func if isinstance(test, cst.Call) else test)
            return True if MAIN_PROCESS.fits(name) else False if RANK_NUMBER.fits(name) else None
    return None


def _is_first_or_none(among: cst.List | cst.Set | cst.Tuple) -> bool:
    """Whether of all ranks only the first one is among some numbers: `(-1, 0)`, `[0]`."""
    others = [each.value for each in among.elements if not isinstance(each.value, cst.UnaryOperation)]
    return bool(others) and all(isinstance(each, cst.Integer) and each.evaluated_value == 0 for each in others)

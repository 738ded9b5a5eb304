"""Steps that Lightning skips on some ranks, so that these lack the backward pass in which the others wait.

Events of a `training_step` that ends in `return loss`:

    if batch["mask"].sum() == 0: return     Divergence: Lightning runs no backward pass
    if batch_idx > self.limit: return       none: on all ranks, or on none
    if torch.isnan(loss): return loss * 0   none: a backward pass starts from it

Recent releases of Lightning raise an error there (2.6.0 does). A module that runs its backward passes itself
(`automatic_optimization = False`) may return what it likes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import Divergence
from trl_lint.analysis.program.syntax import inwards
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint, place_of
from trl_lint.knowledge.lightning import AUTOMATIC_BACKWARD, BY_HAND, KNOWS_PROCESSES, starts_from_result
from trl_lint.knowledge.schema import BACKWARD

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


class Left(NamedTuple):
    """A `return` without a loss, the condition by which ranks get there, and its result on them."""

    statement: cst.Return
    condition: Control
    holds: bool


class Returns:
    """The ways out of a run of a step: without a loss, on some ranks; and with one."""

    def __init__(self) -> None:
        self.without: dict[int, Left] = {}
        self.with_loss: list[SyncPoint] = []


class SkippedSteps(Observer["Frame"]):
    emits = frozenset({Divergence})

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if not isinstance(statement, cst.Return) or not _is_step(frame):
            return
        returns = frame.notes.of(Returns)
        if not _is_none(statement.value):
            point = SyncPoint(statement, AUTOMATIC_BACKWARD, BACKWARD.kind, before)
            returns.with_loss.append(point)
        elif (left := _left_by_data(frame, statement, before)) is not None:
            returns.without[id(statement)] = left

    def on_exit(self, frame: Frame, before: Control, decorated: Control) -> None:
        if not _is_step(frame):
            return
        returns = frame.notes.of(Returns)
        for statement, condition, holds in returns.without.values() if returns.with_loss else ():
            frame.emit(
                Divergence,
                statement,
                condition=condition.provenance,
                holds=holds,
                sync_point=returns.with_loss[-1],
                after=True,
                exit="return",
                origins=condition.rank.origins,
                node_values=frame.node_values,
            )


def _is_step(frame: Frame) -> bool:
    """Whether Lightning calls this function, on several processes, and starts a backward pass from its result."""
    function, cls = frame.function, frame.cls
    if function is None or cls is None or not starts_from_result(function.name, cls.library_bases()):
        return False
    modules = [each.module for each in cls.project_lineage()]
    return any(each.mentions(KNOWS_PROCESSES) for each in modules) and not any(
        each.mentions(BY_HAND) for each in modules
    )


def _is_none(value: cst.BaseExpression | None) -> bool:
    return value is None or (isinstance(value, cst.Name) and value.value == "None")


def _left_by_data(frame: Frame, statement: cst.Return, before: Control) -> Left | None:
    """The innermost `if` around a `return`, if it tests this rank's own data."""
    by_test = {id(place_of(each)): each for each in before.conditions}
    for outer, inner in reversed(list(inwards(frame.root, statement))):
        if isinstance(outer, cst.If):
            condition = by_test.get(id(outer.test))
            if condition is None or condition.uniformity is not Uniformity.DIVERGENT:
                return None
            return Left(statement, condition, inner is outer.body) if condition.rank.origins & Origin.DATA else None
    return None


OBSERVER = SkippedSteps()

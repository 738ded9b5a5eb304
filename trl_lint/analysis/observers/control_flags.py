"""Flags by which some ranks only tell their Trainer to stop, to evaluate, to save or to log.

Events of a callback, for transformers' Trainer and for Lightning's:

    if is_late: control.should_training_stop = True           ControlFlagSet, if each rank asks its own clock
    if is_world_process_zero: control.should_save = True      ControlFlagSet: saving sums over all ranks
    control.should_evaluate = time.time() > self.end          ControlFlagSet
    if trainer.is_global_zero: trainer.should_stop = True     ControlFlagSet
    if global_step > 100: control.should_save = True          none: all ranks do
    if self.agreed(is_late): trainer.should_stop = True       none
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.syntax import inwards
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.trainer_events import ControlFlagSet
from trl_lint.analysis.transfer.data.tested_numbers import is_on_own_loss
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.kinds import class_name_of
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.control_flags import FLAGS, NAMES, STOPS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.ranks import Origin


class Told(NamedTuple):
    """What divides the ranks where a flag is set; see `ControlFlagSet`."""

    condition: Step
    holds: bool | None
    origins: Origin


class ControlFlags(Observer["Frame"]):
    emits = frozenset({ControlFlagSet})
    statements = (cst.Assign,)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        if not isinstance(statement, cst.Assign):
            return
        for target, does in _flags(frame, statement):
            told = _told(frame, statement, before)
            if told is not None:
                frame.emit(
                    ControlFlagSet,
                    statement,
                    flag=frame.module.tree.code_for_node(target),
                    does=does,
                    leaves=target.attr.value in STOPS,
                    on_own_loss=is_on_own_loss(frame, told.condition.node),
                    **told._asdict(),
                )


def _flags(frame: Frame, statement: cst.Assign) -> Iterator[tuple[cst.Attribute, str]]:
    """The flags of a Trainer that a statement sets, each with what ranks do that set it."""
    for each in statement.targets:
        target = each.target
        if isinstance(target, cst.Attribute) and target.attr.value in NAMES:
            flags = FLAGS.get(class_name_of(frame.value_of(target.value)), {})
            if target.attr.value in flags:
                yield target, flags[target.attr.value]


def _told(frame: Frame, statement: cst.Assign, before: Control) -> Told | None:
    """What divides the ranks that set a flag from the others; None if all set it, or may."""
    value = frame.value_of(statement.value)
    if value.rank.differs:
        step = frame.step(statement.value, "`{}` differs between ranks", value.provenance)
        return Told(step, None, value.rank.origins)
    condition = next((each for each in reversed(before.conditions) if _divides(each)), None)
    if condition is None or value.const is not True:
        return None
    return Told(condition.provenance, _holds(frame, statement, condition), condition.rank.origins)


def _divides(condition: Control) -> bool:
    return condition.uniformity is Uniformity.DIVERGENT and condition.rank.differs and place_of(condition) is not None


def _holds(frame: Frame, statement: cst.Assign, condition: Control) -> bool:
    """The result of a condition where a statement runs: below it, or past the branch in which the others leave."""
    test, path = place_of(condition), inwards(frame.root, statement)
    return any(isinstance(outer, cst.If) and outer.test is test and inner is outer.body for outer, inner in path)


OBSERVER = ControlFlags()

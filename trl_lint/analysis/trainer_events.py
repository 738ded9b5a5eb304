"""Events about what a program tells its Trainer, for the rules; see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.knowledge import mentions

if TYPE_CHECKING:
    from libcst import Call

    from trl_lint.domain.provenance import Step
    from trl_lint.domain.ranks import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlFlagSet(Event):
    """Some ranks only tell their Trainer to stop, to evaluate, to save or to log.

    node: the assignment. flag: its target, as it is written. does: what these ranks do then; leaves: whether that is
    to leave the others. condition: what divides the ranks, and why (`origins`). holds: its result on
    those that set the flag; None if its result is what the flag is set to. on_own_loss: whether it is on a loss of
    this rank, or on what is computed from one before.
    """

    mentions = (mentions.TELLS_TRAINER,)
    anywhere = True  # the Trainer that is given the callback may be in another file

    flag: str
    does: str
    leaves: bool
    condition: Step
    holds: bool | None
    origins: Origin
    on_own_loss: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSchedulePrepared(Event):
    """A schedule that makes a step in each epoch is prepared: it makes one for each process.

    node: the call that makes the schedule. prepared, stepped: where it is prepared, and where its step is called.
    """

    mentions = (mentions.SHARERS, mentions.PREPARES_SCHEDULES)

    prepared: Call
    stepped: Call

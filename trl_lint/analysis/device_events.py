"""Events about the GPUs of processes, for the rules; see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.knowledge import mentions

if TYPE_CHECKING:
    from libcst import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedOnSharedGpu(Event):
    """A model is wrapped on a GPU that is the same for all processes: `place`, as the code names it.

    beside_own: whether the program chooses another GPU for each process, which is not named here. on_gpus: whether the
    calling program has started a process group for GPUs.
    """

    mentions = (mentions.WRAPS_FOR_PROCESSES, mentions.DEVICES)

    node: Call
    place: str
    wrapper: str
    beside_own: bool = False
    on_gpus: bool = False

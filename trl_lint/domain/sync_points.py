"""Synchronisation points: the calls at which all ranks wait for each other.

Examples of calls:

    accelerator.gather(loss)              SyncPoint("gather", kind="gathered")
    dist.barrier()                        SyncPoint("barrier", kind="barrier")
    model(**batch)                        SyncPoint("forward", kind="forward")
    trainer.save_model(path)              SyncPoint("save_model", kind="save", engines={FSDP, ZeRO-3})
    sync_everything()  # source unknown   SyncPoint("sync_everything", kind="?")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from trl_lint.domain.control import Control, Pace, Uniformity
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.provenance import Step

if TYPE_CHECKING:
    from libcst import CSTNode

# The kind of a call that may be one, as the source of the callee is not available.
HIDDEN = "?"
# A point-to-point message: the program itself decides who sends to whom, and what else these ranks call.
SENT = "sent"
UNSEEN = frozenset({HIDDEN, SENT})
# A forward of a model whose parameters may be sharded: each module gathers its own parameters.
OF_SHARDS = "forward of shards"
_OF_STEPS = frozenset({"backward", "forward"})


@dataclass(slots=True, eq=False, repr=False)
class SyncPoint:
    """One call at which all ranks synchronise.

    Attributes:
        kind: Calls of the same kind match each other.
        control: How all ranks reach it.
        grad: Whether gradients are on there, and are reduced.
        unroll_index: The iterations of the loops that are analysed once per item.
        engines: The only engines under which it is a synchronisation point, empty if it always is.
        subgroup: Whether the call says which ranks take part.
        of_mesh: Whether that is a group of a device mesh: each rank is in one, but none in one of its own.
        symmetric: Whether all ranks may make the call wherever one does.
        alone: Whether nobody waits there: a forward that sends nothing only prepares for the backward pass.
        certain: Whether it is known to be one; a helper may call a collective only under a condition.
        by_settings: If not certain, whether it is one under conditions on settings alone, which have the same result on
            all ranks, or in a loop with at least one iteration.
        instead: If not certain, the kinds of which every rank reaches a point of one, this one's kind among them.
        of_group: Whether ranks only get there if they have found that there is a process group.
        via: Where it happens, if a helper does it.
    """

    node: CSTNode
    name: str
    kind: str
    control: Control
    unroll_index: tuple[int, ...] = ()
    _: KW_ONLY
    engines: frozenset[TrainingEngine] = frozenset()
    subgroup: bool = False
    of_mesh: bool = False
    symmetric: bool = False
    alone: bool = False
    grad: bool = field(init=False)
    certain: bool = field(default=True, init=False)
    by_settings: bool = field(default=False, init=False)
    instead: frozenset[str] = field(default=frozenset(), init=False)
    of_group: bool = field(default=False, init=False)
    via: Step | None = field(default=None, init=False)
    _tests: frozenset[int] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.grad = self.control.grad and self.control.pace is not Pace.UNREDUCED

    @property
    def is_awaited(self) -> bool:
        """Whether the other ranks wait there, at the pace of the training steps."""
        if self.control.pace is Pace.UNEVEN:
            return self.kind not in _OF_STEPS
        return self.control.pace is Pace.TOGETHER or self.kind != "backward"

    @property
    def tests(self) -> frozenset[int]:
        """The ids of the nodes of the conditions under which the call is reached."""
        if self._tests is None:
            self._tests = frozenset(id(place_of(each)) for each in self.control.conditions)
        return self._tests


def place_of(condition: Control) -> CSTNode | None:
    """The node of a condition."""
    return condition.provenance.node if condition.provenance is not None else None


def control_after(control: Control, points: Iterable[SyncPoint]) -> Control:
    """The control after some points: without unknown conditions under which all ranks have already synchronised.

        if network is None: return      UNKNOWN: some ranks may return
        barrier()                       the others wait for all ranks
        save(network)                   uniform: all ranks reach it, or none

    If the condition is known to differ between ranks, that point itself is the problem.
    """
    if control.uniformity is Uniformity.UNIFORM:
        return control
    here = {id(each.provenance) for each in control.conditions}
    settled: set[int] = set()
    for point in points:
        if point.control.uniformity is Uniformity.UNKNOWN and _includes_all_ranks(point):
            settled |= (
                passed if (passed := {id(each.provenance) for each in point.control.conditions}) <= here else set()
            )
    return control.without_conditions(frozenset(settled)) if settled else control


def without_awaited(control: Control, points: Iterable[SyncPoint]) -> Control:
    """A control without the conditions that differ between ranks and under which all ranks would have to synchronise.

    for loss in losses:             the number of losses may differ between ranks
        loss = reduce(loss)         if it did, the ranks with more of them would wait here
        reduced.append(loss)        so as many are appended on each rank
    """
    awaited = {
        id(each.provenance) for point in points if _includes_all_ranks(point) for each in point.control.conditions
    }
    awaited &= {id(each.provenance) for each in control.conditions if each.rank.differs}
    return control.without_conditions(frozenset(awaited)) if awaited else control


def all_synchronise(control: Control, points: Iterable[SyncPoint]) -> bool:
    """Whether all ranks synchronise at one of these points, whichever of them have come to the place before them."""
    here = {id(each.provenance) for each in control.conditions}
    return any(
        _includes_all_ranks(point) and {id(each.provenance) for each in point.control.conditions} <= here
        for point in points
    )


def _includes_all_ranks(point: SyncPoint) -> bool:
    return point.certain and not point.subgroup and not point.engines and point.kind not in _NOT_BY_ALL


# Calls that a rank may make alone without waiting at once, and calls that may be no synchronisation points.
_NOT_BY_ALL = UNSEEN | {"forward"}

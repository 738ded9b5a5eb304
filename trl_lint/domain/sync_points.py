"""Synchronisation points: the calls at which all ranks have to come together.

What each of these calls is:

    accelerator.gather(loss)              SyncPoint("gather", kind="gathered")
    dist.barrier()                        SyncPoint("barrier", kind="barrier")
    model(**batch)                        SyncPoint("forward", kind="forward")
    trainer.save_model(path)              SyncPoint("save_model", kind="save", engines={FSDP, ZeRO-3})
    sync_everything()  # not in sight     SyncPoint("sync_everything", kind="?")
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.provenance import Step

if TYPE_CHECKING:
    from libcst import CSTNode

# The kind of a call of code out of sight that may be one.
HIDDEN = "?"
# A message from one rank to another: who gets which is agreed by hand, and so is what they call besides.
SENT = "sent"
UNSEEN = frozenset({HIDDEN, SENT})
# A forward of a model whose parameters the ranks may hold in pieces: each module gathers its own.
OF_SHARDS = "forward of shards"


class SyncPoint:
    """One call at which all ranks meet.

    kind: those of one kind match each other. engines: those under which alone they meet, none where they always do.
    certain: whether it is known that the call meets (a helper may do so under a condition only). by_settings: if not,
    whether it does so under conditions on settings alone, which come out alike, or in a loop of some rounds. via: where
    it happens, if a helper does it.
    subgroup: whether it is told which ranks take part. symmetric: whether every rank may make the call wherever one
    does. control: how all ranks get there. grad: whether gradients are on where it happens. unroll_index: in which
    rounds of the loops that are run once per item.
    """

    __slots__ = (
        "_tests",
        "by_settings",
        "certain",
        "control",
        "engines",
        "grad",
        "kind",
        "name",
        "node",
        "subgroup",
        "symmetric",
        "unroll_index",
        "via",
    )

    def __init__(
        self,
        node: CSTNode,
        name: str,
        kind: str,
        control: Control,
        unroll_index: tuple[int, ...] = (),
        *,
        engines: frozenset[TrainingEngine] = frozenset(),
        subgroup: bool = False,
        symmetric: bool = False,
    ) -> None:
        self.node = node
        self.name = name
        self.kind = kind
        self.control = control
        self.grad = control.grad
        self.unroll_index = unroll_index
        self.engines = engines
        self.subgroup = subgroup
        self.symmetric = symmetric
        self.certain = True
        self.by_settings = False
        self.via: Step | None = None
        self._tests: frozenset[int] | None = None

    @property
    def tests(self) -> frozenset[int]:
        """Where the conditions stand under which one comes here, by the ids of the nodes."""
        if self._tests is None:
            self._tests = frozenset(id(place_of(each)) for each in self.control.conditions)
        return self._tests


def place_of(condition: Control) -> CSTNode | None:
    """Where a condition stands."""
    return condition.provenance.node if condition.provenance is not None else None


def agreed(control: Control, points: Iterable[SyncPoint]) -> Control:
    """A point behind some others, without conditions that are not known, and that all ranks have met behind.

        if network is None: return      UNKNOWN: some ranks may leave
        barrier()                       those that are left wait for all
        save(network)                   uniform: all of them are here, or none

    Where a rank is known to be let in and another is not, the meeting itself is what is wrong.
    """
    if control.uniformity is Uniformity.UNIFORM:
        return control
    here = {id(each.provenance) for each in control.conditions}
    met: set[int] = set()
    for point in points:
        if point.control.uniformity is Uniformity.UNKNOWN and _is_of_all(point):
            met |= passed if (passed := {id(each.provenance) for each in point.control.conditions}) <= here else set()
    return control.less(frozenset(met)) if met else control


def all_meet(control: Control, points: Iterable[SyncPoint]) -> bool:
    """Whether all ranks meet in one of these points, whichever of them get to the place before them."""
    here = {id(each.provenance) for each in control.conditions}
    return any(
        _is_of_all(point) and {id(each.provenance) for each in point.control.conditions} <= here for point in points
    )


def _is_of_all(point: SyncPoint) -> bool:
    return point.certain and not point.subgroup and not point.engines and point.kind not in _SEEN_BY_SOME


# What a rank may do alone without waiting for others at once, and what may be no meeting at all.
_SEEN_BY_SOME = UNSEEN | {"forward"}

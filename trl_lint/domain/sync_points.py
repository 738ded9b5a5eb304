"""Synchronisation points: the calls at which all ranks have to come together.

What each of these calls is:

    accelerator.gather(loss)              SyncPoint("gather", kind="gathered")
    dist.barrier()                        SyncPoint("barrier", kind="barrier")
    model(**batch)                        SyncPoint("forward", kind="forward")
    trainer.save_model(path)              SyncPoint("save_model", kind="save", engines={FSDP, ZeRO-3})
    sync_everything()  # not in sight     SyncPoint("sync_everything", kind="?")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.control import Control
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.provenance import Step

if TYPE_CHECKING:
    from libcst import CSTNode

# The kind of a call of code out of sight that may be one.
HIDDEN = "?"


class SyncPoint:
    """One call at which all ranks meet.

    kind: those of one kind match each other. engines: those under which alone they meet, none where they always do.
    certain: whether it is known that the call meets (a helper may do so under a condition only). by_settings: if not,
    whether it does so under conditions on settings alone, which come out alike. via: where it happens, if a helper does
    it.
    subgroup: whether it is told which ranks take part. symmetric: whether every rank may make the call wherever one
    does. control: how all ranks get there. grad: whether gradients are on where it happens. unroll_index: in which
    rounds of the loops that are run once per item.
    """

    __slots__ = (
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


def place_of(condition: Control) -> CSTNode | None:
    """Where a condition stands."""
    return condition.why.node if condition.why is not None else None

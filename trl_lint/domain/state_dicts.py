"""State dicts of models: whether the names in them begin with `module.`, as those of a wrapper do.

    wrapped.state_dict()                                     owner=WRAPPED: `module.layer.weight`
    wrapped.module.state_dict()                              owner=UNWRAPPED: `layer.weight`
    net.state_dict()                                         owner=BARE: the same
    model.state_dict(), after `if ddp: model = DDP(net)`     owner=MAYBE: the one or the other

DistributedDataParallel and DataParallel hold the model as their `module`. FSDP leaves its own prefix out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from trl_lint.domain.provenance import Step
from trl_lint.domain.values import Value, Wrapping


@dataclass(slots=True, eq=False, repr=False)
class StateDict(Value):
    """The state dict of a model, or a copy of it with the same names. owner: how that model is wrapped."""

    parts: ClassVar[dict[str, object]] = {"owner": Wrapping.UNKNOWN}

    owner: Wrapping = Wrapping.UNKNOWN


@dataclass(slots=True, eq=False, repr=False)
class StateTaken(Step):
    """A model is asked for its state dict here; before it: what wraps that model, if anything does.

    by_code: whether the code itself wraps it in DistributedDataParallel or DataParallel, whatever a library would.
    """

    by_code: bool = field(kw_only=True)


def either_state(a: StateDict, b: StateDict) -> Value:
    """The state dict on two ways: on both it is that of a model without a wrapper, or nothing is known of it.

    state = model.module.state_dict() if distributed else model.state_dict()
    """
    owners = {a.owner, b.owner}
    if owners == {Wrapping.BARE, Wrapping.UNWRAPPED}:
        return a if a.owner is Wrapping.UNWRAPPED else b
    return a if len(owners) == 1 else a.as_a(Value)

"""Facts in the words of users: what `trl-lint explain` and hovers say about a value, and about who reaches a place.

>>> from trl_lint.domain import ranks
>>> from trl_lint.domain.kinds import ModelValue, NumberValue, TensorValue
>>> from trl_lint.domain.values import Wrapping
>>> fact_of(TensorValue(ranks.LOCAL_MEAN)), fact_of(NumberValue(ranks.RANK_LOCAL))
("differs between ranks: computed from this rank's own data (a mean)", 'differs between ranks: depends on the rank')
>>> fact_of(NumberValue(ranks.REDUCED)), fact_of(ModelValue(wrapping=Wrapping.WRAPPED))
('the same on all ranks (reduced over them)', 'a model inside its wrapper (DDP or the like)')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.domain import ranks
from trl_lint.domain.control import Uniformity
from trl_lint.domain.devices import HOST, MAYBE_CPU, OF_RANK
from trl_lint.domain.kinds import ContainerValue, LibraryInstance, LoaderValue, ModelValue, PreparedObject
from trl_lint.domain.ranks import Origin, Rank, State
from trl_lint.domain.values import Kind, Value, Wrapping

if TYPE_CHECKING:
    from trl_lint.domain.control import Control

_ORIGINS = {
    Origin.DATA: "computed from this rank's own data",
    Origin.RANK: "depends on the rank",
    Origin.CLOCK: "depends on the time on this rank",
    Origin.MEMORY: "depends on this GPU's memory",
    Origin.RNG: "drawn at random by each rank",
    Origin.IO: "depends on this rank's disk",
    Origin.ROOT: "only one rank has the result of the reduction",
}
_WRAPPINGS = {
    Wrapping.WRAPPED: "a model inside its wrapper (DDP or the like)",
    Wrapping.BARE: "a bare model",
    Wrapping.UNWRAPPED: "the bare model inside a wrapper",
    Wrapping.MAYBE: "a model that is wrapped on one path and bare on another",
    Wrapping.UNKNOWN: "a model; it is not known whether it is wrapped",
    None: "a model",
}
_STATES = {
    State.BOTTOM: "never has a value here",
    State.SAME: "the same on all ranks",
    State.UNKNOWN: "not known whether it differs between ranks",
    State.SHARD: "differs between ranks: this rank's share of the data",
}
_NO_FACTS = frozenset({Kind.BOUND, Kind.CLASS, Kind.FUNCTION, Kind.MODULE, Kind.NONE})
# Reasons to mention even if it is unknown whether a value differs.
_UNKNOWN_BY = {"setting": "depends on settings, which all ranks share"}
_REACHED = {
    Uniformity.UNIFORM: "all ranks get here together",
    Uniformity.UNKNOWN: "it is not known whether all ranks get here together",
    Uniformity.DIVERGENT: "not all ranks get here together",
}


def fact_of(value: Value) -> str:
    """How a value differs between ranks, and what else is known that rules use."""
    thing = _thing(value)
    if value.kind is Kind.MODEL or (thing and not value.rank.differs):
        return thing
    said = [thing, _rank(value.rank)]
    if value.shape is not None and value.shape.is_ragged:
        said.append(f"its size differs between ranks in {_dimensions(value.shape.ragged)}")
    place = _place(str(value.device)) if value.kind in (Kind.TENSOR, Kind.BATCH, Kind.INSTANCE) else ""
    return "; ".join(filter(None, [*said, place]))


def tells(value: Value) -> bool:
    """Whether there are facts to show about a value: not for functions, classes and modules."""
    return value.kind not in _NO_FACTS


def reached_of(control: Control) -> str:
    """Which ranks reach a place."""
    if control.conditions and all(each.rank == ranks.SETTING for each in control.conditions):
        return "all ranks get here together, or none does: that depends on settings, which all ranks share"
    return _REACHED[control.uniformity]


def _thing(value: Value) -> str:
    """What kind of thing it is, if that says more than how it differs between ranks."""
    match value:
        case ModelValue():
            return _WRAPPINGS[value.wrapping]
        case LoaderValue():
            own = value.batch is not None and value.batch.rank.differs
            return "a data loader" + ": each rank gets its own batches" * own
        case PreparedObject():
            return "the result of `prepare`"
        case LibraryInstance():
            return f"an object of `{value.name}`"
        case ProjectInstance():
            return f"an object of `{value.cls.name}`"
        case ContainerValue():
            return "a container; its contents have their own facts"
    return ""


def _rank(rank: Rank) -> str:
    if rank.state is State.PARTIAL:
        return f"differs between ranks: this rank's part of a {rank.how} over all"
    if rank.state is State.LOCAL:
        by = [words for origin, words in _ORIGINS.items() if origin in rank.origins]
        made = " (a mean)" * (rank.how == "mean")
        return f"differs between ranks: {' and '.join(by)}{made}" if by else "differs between ranks"
    if rank.state is State.UNKNOWN and rank.how in _UNKNOWN_BY:
        return _UNKNOWN_BY[rank.how]
    if rank.is_of_root:
        return "reduced over the ranks, and only one of them has the result"
    return _STATES[rank.state] + " (reduced over them)" * (rank.state is State.SAME and rank.how == "reduced")


def _dimensions(numbers: tuple[int, ...]) -> str:
    return f"dimension{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _place(device: str) -> str:
    """The device of a tensor, unless it is just the accelerator's own device."""
    if device in ("", HOST, *OF_RANK):
        return ""
    return (
        "on the CPU on some path to here" if device == MAYBE_CPU else f"on {'the CPU' if device == 'cpu' else device}"
    )

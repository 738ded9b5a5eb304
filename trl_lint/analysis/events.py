"""What the interpreter tells the rules: something happened at a place, with these facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trl_lint.analysis.heap import Control
from trl_lint.analysis.means import Mean
from trl_lint.analysis.values import Payload, Step, Value, Write

if TYPE_CHECKING:
    from libcst import CSTNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """module, node: where. control: whether all ranks get there together. owner: the enclosing function."""

    module: Any
    node: CSTNode
    control: Control
    owner: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCalled(Event):
    """A call of a collective. `operand` is what it communicates, `argument` the Arg node that holds it.

    numbers: the entries of a container that are Python numbers, as `shape:key`. parts: the operand, or what is in
    the containers that it is. stepping: whether a batch that a prepared loader has handed out is being
    trained on there.
    """

    row: Any
    operand: Value
    argument: CSTNode
    numbers: tuple[str, ...] = ()
    parts: tuple[Value, ...] = ()
    stepping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRead(Event):
    """An attribute is read from a model. `called`: the result is called at once.

    cls: the class of `self` there, if any. accelerator: the text by which the Accelerator is reached, or "".
    """

    model: Value
    attribute: str
    called: bool = False
    cls: Any = None
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged(Event):
    """A value is shown to the user by `sink`, after it was put into a container by `writes` (or directly)."""

    sink: str
    what: str
    value: Value
    writes: frozenset[Write] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged(Event):
    """The ranks' means, each over its rank's own count, are averaged.

    means: where they are computed. handed: the statements that handed them to a helper which averages them; empty
    where that is done in place. statement, payload: the statement of the average, and what a fix must know of it.
    """

    means: frozenset[Mean]
    handed: frozenset[Write]
    statement: Any
    payload: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Revealed(Event):
    """`reveal_rank(x)`, `reveal_shape(x)`: the analysis' own tests ask for a fact of a value."""

    value: Value
    shape: bool = False


@dataclass(slots=True)
class Trace:
    """The events of one run of one function, by node: a later pass over a loop replaces an earlier one's."""

    events: dict[Any, Event] = field(default_factory=dict)
    calls: dict[Any, Any] = field(default_factory=dict)
    shows: bool = False  # whether it hands anything to a sink, itself or in what it calls


def steps(step: Step | None) -> list[Step]:
    """The chain, from the source to the newest place."""
    chain = []
    while step is not None:
        chain.append(step)
        step = step.before
    return chain[::-1]

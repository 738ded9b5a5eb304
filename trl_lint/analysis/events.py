"""What the interpreter tells the rules: something happened at a place, with these facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast, get_args

from trl_lint.domain.averaging import Mean
from trl_lint.domain.control import Control, FirstRank
from trl_lint.domain.model_roles import is_replicated, is_trained
from trl_lint.domain.provenance import SourceModule, Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint
from trl_lint.domain.values import Payload, Value, Write
from trl_lint.knowledge import mentions
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.mentions import LIBRARIES, Mentions

if TYPE_CHECKING:
    from libcst import Arg, BaseExpression, Call, CSTNode, FunctionDef

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.knowledge.random_draws import DrawRow
    from trl_lint.knowledge.schema import Collective, Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """module, node: where. control: whether all ranks get there together. function: the enclosing one."""

    # What a file has to mention for it to happen there: one of each group.
    mentions: ClassVar[Mentions] = (LIBRARIES,)
    # Whether a file that names no library can have it where another file runs its code on every rank.
    anywhere: ClassVar[bool] = False

    module: Module
    node: CSTNode
    control: Control
    function: FunctionInfo | None = None

    def is_sure_without_library(self) -> bool:
        """Whether it is told in a file that names no library, whose code others run."""
        return self.anywhere


EventT = TypeVar("EventT", bound=Event)


def types_of(cls: type[Any]) -> tuple[type[Event], ...]:
    """The events that a class is about, as its own base says: those of `Rule[A | B]` are A and B."""
    (about,) = get_args(cls.__orig_bases__[0])
    return get_args(about) or (about,)


class DividedBy(Enum):
    """What has some ranks go another way than the others."""

    CONDITION = "an `if`, or an expression that chooses"
    LOOP = "how often a loop is run"
    EXCEPTION = "an exception that some of them catch"
    DECORATOR = "a decorator that lets only some of them in"
    SEQUENTIAL = "a block that one rank after the other runs"


class NumberEntry(NamedTuple):
    """A Python number in a "dict", a "list" or a "set". key: its key in a dict, where that is known."""

    container: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCalled(Event):
    """A call of a collective. `operand` is what it communicates, `argument` the Arg node that holds it.

    numbers: the entries of a container that are Python numbers. parts: the operand, or what is in
    the containers that it is. received: the same of what it fills, where that is not its operand. accelerator: the text
    by which the Accelerator is reached there, or "". stepping: whether a batch that a prepared loader has handed out is
    being trained on there; None as in the caller. groups: the process groups that it is given. on_gpus: whether the
    group that the program has started is one for GPUs.
    """

    mentions = (LIBRARIES, mentions.COLLECTIVES)

    node: Call
    row: Collective
    operand: Value
    argument: Arg
    numbers: tuple[NumberEntry, ...] = ()
    parts: tuple[Value, ...] = ()
    received: tuple[Value, ...] = ()
    accelerator: str = ""
    stepping: bool | None = None
    groups: tuple[Value, ...] = ()
    on_gpus: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRead(Event):
    """An attribute is read from a model. `called`: the result is called at once.

    cls: the class of `self` there, if any. accelerator: the text by which the Accelerator is reached, or "".
    """

    mentions = (LIBRARIES, mentions.WRAPPED)
    anywhere = True

    model: Value
    attribute: str
    called: bool = False
    cls: ClassInfo | None = None
    accelerator: str = ""

    def is_sure_without_library(self) -> bool:
        """Not where who hands it over names an engine; DDP is none, and in which one Trainer has it, a launch says."""
        others = {cast("Module", step.module) for step in steps(self.model.provenance)} - {self.module}
        return (
            is_replicated(self.model) or is_trained(self.model) or not any(each.shows(NAMES_ENGINE) for each in others)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeAsked(Event):
    """`hasattr` asks a model that DDP wraps for what the wrapper lacks, and what is done with it is left out then."""

    mentions = (LIBRARIES, mentions.WRAPPED)
    anywhere = True

    node: Call
    model: Value
    attribute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """A forward of a model that a wrapper has to do with. `path` is the part of `model` that is called, "" for all.

    trains: whether code gets there that computes gradients for the optimizer. names: the wrapped models in reach, by
    the text of their expression; attributes: those that are attributes of `self`. given: the parameters of the function
    that the caller may have computed with gradients.
    """

    mentions = (LIBRARIES, mentions.WRAPPED)

    model: Value
    path: str = ""
    trains: bool = False
    names: tuple[tuple[str, Value], ...] = ()
    attributes: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperDropped(Event):
    """A DistributedDataParallel is made, or what `prepare` gives (`is_prepared`), and nobody keeps it.

    is_list: whether it is a list that `prepare` is given, which it gives back as it is.
    """

    mentions = (LIBRARIES, mentions.WRAPPED)

    node: Call
    is_prepared: bool = False
    is_list: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRead(Event):
    """The value of a parameter of a model is used outside a forward, where an engine may have sharded it."""

    mentions = (LIBRARIES, mentions.WRAPPED, mentions.PARAMETERS)

    value: Value
    attribute: str
    trains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwrappedForGeneration(Event):
    """A context manager that prepares a model for generation gets `model`; `argument` is the Arg node."""

    mentions = (LIBRARIES, mentions.FOR_GENERATION)

    model: Value
    argument: Arg
    cls: ClassInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedToPipeline(Event):
    """A pipeline of Diffusers is made with a wrapped `model`; `argument` is the Arg node, `name` its keyword, or "".

    accelerator: the text by which the Accelerator is reached, or "".
    """

    mentions = (LIBRARIES, mentions.WRAPPED, mentions.PIPELINES)

    model: Value
    argument: Arg
    name: str = ""
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChosen(Event):
    """The rank in the whole job says on which device something is. provenance: the step that asked for that rank."""

    mentions = (mentions.GLOBAL_RANKS, mentions.DEVICES)  # the rank may be that of the environment
    anywhere = True

    index: Value
    provenance: Step | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReturned(Event):
    """What a hook returned is handed to a collective by its caller, as the item of that name.

    accelerator: the text by which the Accelerator is reached in the hook, or "".
    """

    mentions = (LIBRARIES, mentions.GATHERED_HOOKS)

    node: FunctionDef
    value: Value
    what: str
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPrepared(Event):
    """A whole data set is computed and cached by `method`. first_rank: who does so first, if anybody is known to.

    in_trainer: it is done by a class that a library runs on every rank. started: by a program that starts a training.
    accelerator: the text by which the Accelerator is reached there, or "". holds_trainer: whether the function that is
    mapped holds the trainer. Its hash names the cache file, and that of a trainer that has been built is another one on
    each rank, as it holds the rank.
    """

    mentions = (LIBRARIES, mentions.PREPARATIONS, mentions.DATASETS)
    anywhere = True

    method: str
    holds_trainer: bool = False
    first_rank: FirstRank | None
    in_trainer: bool
    started: bool = False
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged(Event):
    """A value is shown to the user by `sink`, after it was put into a container by `writes` (or directly)."""

    mentions = (LIBRARIES, mentions.SINKS)
    anywhere = True

    sink: str
    what: str
    value: Value
    writes: frozenset[Write] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricShown(Event):
    """A figure of an evaluation is shown to a person by `sink`, as `what` in the call.

    loop: what went through the batches that it is of.
    """

    mentions = (LIBRARIES, mentions.EVALUATIONS, mentions.SHOWN)

    sink: str
    what: str
    value: Value
    loop: CSTNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence(Event):
    """Some ranks do not reach a synchronisation point that the others wait at.

    node: the call, or, where they have left before it (`after`), the statement by which they do, if it is known, else
    the condition. condition: what divides them, and by: what kind of thing that is. holds: of a CONDITION, how it comes
    out on those that leave, or that make the call. way_out: the keyword of the statement by which they leave, or may
    leave (`may_stay`). caught: they skip a backward pass by an `except`. origins: by what the condition differs.
    missing: all points that they may not reach because of it, in order, where no other ones make up for some of these.
    node_values: the facts of what the condition asks, by the id of its node. knows_sharding: whether the function takes
    care of models that an engine shards.
    """

    mentions = (LIBRARIES, mentions.MEETINGS)

    condition: Step
    sync_point: SyncPoint
    by: DividedBy = DividedBy.CONDITION
    holds: bool = True
    after: bool = False
    way_out: str = ""
    may_stay: bool = False
    caught: bool = False
    origins: Origin = Origin.NONE
    missing: tuple[SyncPoint, ...] = ()
    node_values: Mapping[int, Value] = field(default_factory=dict)
    knows_sharding: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDivergence(Event):
    """Some ranks have another data set than the others: `condition`, at the node, decides on which ones.

    handed: the call that is given it, as `name`, and goes through it on every rank.
    """

    mentions = (LIBRARIES, mentions.TRAINED_ON)

    condition: Step
    handed: Step
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDrawn(Event):
    """Each rank goes through a share of a data set that it has put in an order, or in parts, of its own.

    draw: the place of the draw. how: its row, and name: what it is called. drawer: the function that draws. handed:
    where the data set is shared out. is_here: whether the event stands at the draw; one in another file is told where
    its result is shared out, and `handed` is the draw. arguments: the expression of the trainer's arguments there, if
    it is one. seeds: texts that are the same seed on all ranks at the draw. names: those bound there. is_apart: it is
    seeded, with what is each rank's own.
    """

    mentions = (mentions.SHARERS, mentions.DRAWS)

    draw: Step
    how: DrawRow
    name: str
    handed: Step
    drawer: FunctionInfo | None = None
    is_here: bool = True
    arguments: BaseExpression | None = None
    seeds: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    is_apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffect(Event):
    """Every rank changes what all of them share by calling `name` (`effect` says how).

    accelerator: the text by which the Accelerator is reached there, or "". by_clock: what they change is called after
    the second of each. where: under which condition all of them do, "" where whatever holds. looked: each of them has
    looked whether it is there, at a moment of its own. has_run: each of them that has a tracker's run. called: the call
    in another file by which they come here, if that is how.
    """

    mentions = (mentions.STARTED, mentions.SIDE_EFFECTS)
    anywhere = True

    node: Call
    name: str
    effect: Effect
    accelerator: str = ""
    by_clock: bool = False
    where: str = ""
    looked: bool = False
    has_run: bool = False
    called: Step | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged(Event):
    """The ranks' means, each over its rank's own count, are averaged.

    means: where they are computed. handed: the statements that handed them to a helper which averages them; empty
    where that is done in place. statement, payload: the statement of the average, and what a fix must know of it.
    """

    mentions = (LIBRARIES, mentions.COLLECTIVES, mentions.AVERAGES)

    means: frozenset[Mean]
    handed: frozenset[Write]
    statement: CSTNode
    payload: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Revealed(Event):
    """`reveal_rank(x)`, `reveal_shape(x)`: the analysis' own tests ask for a fact of a value."""

    value: Value
    shape: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Event):
    """A statement that somebody asks about (`Module.asked`) has run: what is known of the expressions in it.

    reached: which ranks come to it, by what was known before it ran.
    """

    values: tuple[tuple[CSTNode, Value], ...]
    reached: Control


# How much of a node's source is shown in a line.
_SHOWN = 60
# What is left of line ends inside of brackets.
_JOINED = re.compile(r"(?<=[(\[{]) |,? (?=[)\]}])")


def source_of(step: Step) -> str:
    """The source of the node of a step, on one line."""
    return shown_source(step.module, step.node)


def shown_source(module: SourceModule, node: CSTNode) -> str:
    """The source of a node, on one line."""
    code = module.tree.code_for_node(node)
    source = " ".join(code.split())
    if "\n" in code:
        source = _JOINED.sub("", source)
    return source if len(source) <= _SHOWN else f"{source[: _SHOWN - 3]}..."


def source_step(step: Step | None) -> Step | None:
    """Where a chain begins; None where nothing is known of it."""
    while step is not None and step.before is not None:
        step = step.before
    return step


def steps(step: Step | None) -> list[Step]:
    """The chain, from the source to the newest place."""
    chain = []
    while step is not None:
        chain.append(step)
        step = step.before
    return chain[::-1]

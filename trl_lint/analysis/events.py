"""Events: what the interpreter reports to the rules. Something happens at a place, with these facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from trl_lint.domain.absence import Absence
from trl_lint.domain.averaging import Mean
from trl_lint.domain.control import Control
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.entries import NumberEntry
from trl_lint.domain.model_roles import is_replicated, is_trained
from trl_lint.domain.provenance import Step, steps
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import SyncPoint
from trl_lint.domain.values import Payload, Value, Write
from trl_lint.knowledge import mentions
from trl_lint.knowledge.accelerate import CUTS_REST
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.mentions import LIBRARIES, Mentions

if TYPE_CHECKING:
    from libcst import Arg, BaseExpression, Call, CSTNode, FunctionDef

    from trl_lint.analysis.program.idioms.step_counts import CountedSchedule
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.knowledge.random_draws import DrawRow
    from trl_lint.knowledge.schema import Collective, Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens at a node of a module. `control`: whether all ranks reach it together.

    `function` is the enclosing one. If an event has an `accelerator`, it is the text by which it is accessible, or "".
    """

    # What a file has to mention for the event to occur in it: one text of each group.
    mentions: ClassVar[Mentions] = (LIBRARIES,)
    # Whether it can occur in a file that names no library, if another file runs its code on every rank.
    anywhere: ClassVar[bool] = False

    module: Module
    node: CSTNode
    control: Control
    function: FunctionInfo | None = None

    def is_sure_without_library(self) -> bool:
        """Whether to report it in a file that names no library, whose code others run."""
        return self.anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCalled(Event):
    """A collective is called. `operand` is what it communicates, `argument` the Arg node that holds it.

    numbers: the entries of a container that are Python numbers. parts: the operand, or the contents of the containers
    that it is; received: the same for what it fills, if not the operand. stepping: whether a batch from a prepared
    loader is trained on; None: the caller decides. groups: process groups. on_gpus: whether there is a group for GPUs.
    full_batches: whether the trainer that calls it always drops an incomplete last batch.
    """

    mentions = (LIBRARIES, mentions.COLLECTIVES)
    anywhere = True

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
    full_batches: bool = False

    @property
    def cuts_ranks(self) -> bool:
        """Whether of one value per rank those of some may be cut."""
        return self.row.name == CUTS_REST and self.stepping is True and not self.full_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRead(Event):
    """An attribute is read from a model, and called at once if `called`. `cls` is the class of `self` there, if any."""

    mentions = (LIBRARIES, mentions.WRAPPED)
    anywhere = True

    model: Value
    attribute: str
    called: bool = False
    cls: ClassInfo | None = None
    accelerator: str = ""

    def is_sure_without_library(self) -> bool:
        """Not if the file that passes the model names an engine. No file names DDP; for Trainer, the launch decides."""
        others = {cast("Module", step.module) for step in steps(self.model.provenance)} - {self.module}
        return (
            is_replicated(self.model) or is_trained(self.model) or not any(each.shows(NAMES_ENGINE) for each in others)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeAsked(Event):
    """`hasattr` tests a model that DDP wraps for an attribute that the wrapper lacks, so the code for it is skipped."""

    mentions = (LIBRARIES, mentions.WRAPPED)
    anywhere = True

    node: Call
    model: Value
    attribute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """A forward of a model that has a wrapper. `path` is the part of `model` that is called, "" for all of it.

    given: the expression that passes `model`, if a method of a library that is called with it runs the forward.
    trains: if it is trained with. names: the wrapped models there, by text; attributes: those of `self`; passed: calls
    that run one, by id; pending: since a backward pass; prepared: if unknown code may. with_gradients: who has some.
    """

    mentions = (LIBRARIES, mentions.WRAPPED)
    anywhere = True

    model: Value
    path: str = ""
    given: BaseExpression | None = None
    trains: bool = False
    names: tuple[tuple[str, Value], ...] = ()
    attributes: frozenset[str] = frozenset()
    passed: frozenset[int] = frozenset()
    pending: frozenset[int] = frozenset()
    with_gradients: frozenset[str] = frozenset()
    prepared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperDropped(Event):
    """A wrapper is discarded, or kept only in a loop's variable (`in_loop`); `is_list`: `prepare` returns its list.

    kept: the attribute that has it, and that nothing reads.
    """

    mentions = (LIBRARIES, mentions.WRAPPED)

    node: Call
    in_loop: bool = False
    is_list: bool = False
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRead(Event):
    """The value of a model's parameter is used outside a forward, where an engine may have sharded it."""

    mentions = (LIBRARIES, mentions.WRAPPED, mentions.PARAMETERS)

    value: Value
    attribute: str
    trains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwrappedForGeneration(Event):
    """A context manager that prepares a model for generation is passed `model`; `argument` is the Arg node."""

    mentions = (LIBRARIES, mentions.FOR_GENERATION)

    model: Value
    argument: Arg
    cls: ClassInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedToPipeline(Event):
    """A Diffusers pipeline is created with a wrapped `model`; `argument` is the Arg node, `name` its keyword or ""."""

    mentions = (LIBRARIES, mentions.WRAPPED, mentions.PIPELINES)

    model: Value
    argument: Arg
    name: str = ""
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadModelTrained(Event):
    """A model spread over all GPUs of a process is passed to what wraps for several: `receiver`, as messages say it."""

    mentions = (LIBRARIES, mentions.SHARERS)

    model: Value
    receiver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePrepared(Event):
    """A schedule as long as a loop, which counts its steps once, is prepared: it makes a step for each process."""

    mentions = (mentions.SHARERS, mentions.PREPARES_SCHEDULES)

    node: Call
    schedule: CountedSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChosen(Event):
    """The global rank chooses a device. provenance: the step that read it. expression: what is passed, if written."""

    mentions = (mentions.GLOBAL_RANKS, mentions.DEVICES)  # the rank may be that of the environment
    anywhere = True

    index: Value
    provenance: Step | None = None
    expression: BaseExpression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReturned(Event):
    """The caller of a hook passes the value that the hook returns to a collective, as the item of that name."""

    mentions = (LIBRARIES, mentions.GATHERED_HOOKS)

    node: FunctionDef
    value: Value
    what: str
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged(Event):
    """A value is logged by `sink`, after `writes` put it into a container.

    by_each: to a writer of each process. by_some: to one that only some ranks have.
    """

    mentions = (LIBRARIES, mentions.SINKS)
    anywhere = True

    sink: str
    what: str
    value: Value
    writes: frozenset[Write] = frozenset()
    by_each: bool = False
    by_some: bool = False
    evaluates: bool | None = None  # not if it is of a training or a test; None: what leads there tells, if anything


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricShown(Event):
    """A metric of an evaluation, of the batches of `loop`, is shown by `sink` as `what`; of_main: by one rank only."""

    mentions = (LIBRARIES, mentions.EVALUATIONS, mentions.SHOWN)
    anywhere = True

    sink: str
    what: str
    value: Value
    loop: CSTNode
    in_file: bool = False
    of_main: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence(Event):
    """Some ranks do not reach a synchronisation point at which the others wait.

    node: the call; if those ranks have left before it (`after`), the statement by which they do, or the condition.
    condition: what divides the ranks; by: what kind of thing that is; origins: why it differs. holds: for a CONDITION,
    its result on the ranks that leave, or that make the call. exit: the keyword of the statement by which they leave,
    or may leave (`may_stay`). by_buffers: whether later passes make up for it unless the model has buffers. caught: if
    an `except` skips a backward pass. missing: all points that they may not reach, in order, unless others make up for
    some. node_values: facts of the condition's parts, by node id. knows_sharding: if the function knows sharded models.
    on_outputs: whether the condition is on what a forward that is trained returns. asks_for_numbers: the calls in it,
    by their ids, of functions that test numbers.
    """

    mentions = (LIBRARIES, mentions.SYNC_POINTS)
    anywhere = True

    condition: Step
    sync_point: SyncPoint
    by: DividedBy = DividedBy.CONDITION
    holds: bool = True
    after: bool = False
    exit: str = ""
    may_stay: bool = False
    by_buffers: bool = False
    caught: bool = False
    origins: Origin = Origin.NONE
    missing: tuple[SyncPoint, ...] = ()
    node_values: Mapping[int, Value] = field(default_factory=dict)
    asks_for_numbers: frozenset[int] = frozenset()
    knows_sharding: bool = False
    on_outputs: bool = False

    def is_sure_without_library(self) -> bool:
        """Not if a decorator lets only some ranks in: what else it does is up to the file that runs the function."""
        return self.by is not DividedBy.DECORATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDivergence(Event):
    """Some ranks (`condition`) have another data set, as `name`, than the others; each iterates over it in `use`."""

    mentions = (LIBRARIES, mentions.TRAINED_ON)

    condition: Step
    use: Step
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDrawn(Event):
    """Each rank processes a share of a data set that it has shuffled or split in its own way.

    draw: the place of the draw, by the call `name`, whose row is `row`, in the function `drawer`. use: where the data
    set is sharded. is_here: whether the event is at the draw; one in another file is reported at `use`. arguments: the
    expression of the trainer's arguments there, if there is one. seeds: expressions that are the same seed on all ranks
    at the draw. names: those bound there. is_apart: whether it is seeded with something that differs between ranks.
    needs_group: whether sharding it fails where no process group has been started.
    """

    mentions = (mentions.SHARERS_OF_ROWS, mentions.DRAWS)

    draw: Step
    row: DrawRow
    name: str
    use: Step
    drawer: FunctionInfo | None = None
    is_here: bool = True
    arguments: BaseExpression | None = None
    seeds: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    is_apart: bool = False
    needs_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnshardedData(Event):
    """A wrapped model is trained on all rows, by a loader without a sampler; the node is its call, or of the loop.

    loader: its call, after the loop. shuffles: if that is known. files: of the data set. prepared: by `prepare`.
    by_trainer: whether a Trainer trains on it.
    """

    loader: Step
    shuffles: bool | None
    files: tuple[Module, ...]
    prepared: bool
    by_trainer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffect(Event):
    """Every rank calls `name` and changes a resource that all ranks share (`effect` says how).

    trainer: the expression for the Trainer of `accelerator`, "" without one. by_clock: whether the name of what they
    change contains the time in seconds. where: the condition under which all ranks do it, "" if always. looked: whether
    each of them has tested if it exists, at a moment of its own. has_run: whether only ranks with a tracker's run do
    it. early: whether one process does it before Lightning starts the others. own: whether each of them writes data
    that only it has; None if unknown. called: the call in another file that leads here. called_back: whether a function
    leads here that a library was given; if_called_back: whether it only counts there. is_done: whether it has been done
    by some ranks where the others come to it, now that all runs are known. without: the options that are off by
    default, and without which all ranks do it.
    """

    mentions = (mentions.STARTED, mentions.SIDE_EFFECTS)
    anywhere = True

    node: Call
    name: str
    effect: Effect
    accelerator: str = ""
    trainer: str = ""
    by_clock: bool = False
    where: str = ""
    looked: bool = False
    has_run: bool = False
    early: bool = False
    own: bool | None = None
    called: Step | None = None
    called_back: bool = False
    if_called_back: bool = False
    without: frozenset[str] = frozenset()
    is_done: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLacked(Event):
    """A value that only some ranks have is used where other ranks run as well, which fail there.

    absence: which ranks lack it, and why. is_here: whether this function tests the rank itself. called: the call in
    another file through which the others get here, if there is one. resumes: whether it is the checkpoint that a
    training goes on from, which begins on the others.
    """

    mentions = (mentions.STARTED, mentions.TELLS_RANKS_APART)
    anywhere = True

    absence: Absence
    is_here: bool = True
    called: Step | None = None
    resumes: bool = False
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged(Event):
    """The means of the ranks, each over a rank-local count, are averaged.

    means: where they are computed. passed_by: the statements that passed them to a helper that averages them; empty if
    they are averaged in place. statement, payload: the statement of the average, and what a fix must know of it.
    """

    mentions = (LIBRARIES, mentions.COLLECTIVES, mentions.AVERAGES)
    anywhere = True

    means: frozenset[Mean]
    passed_by: frozenset[Write]
    statement: CSTNode
    payload: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Revealed(Event):
    """`reveal_rank(x)`, `reveal_shape(x)`: tests of the analysis ask for a fact of a value."""

    value: Value
    shape: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Event):
    """A statement that was asked about (`Module.asked`) has run: its expressions, and which ranks reached it before."""

    values: tuple[tuple[CSTNode, Value], ...]
    reached: Control

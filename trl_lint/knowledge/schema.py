"""The types of the rows of the knowledge tables. Each row names one API of a library and where it was read.

A name is the canonical dotted one (`accelerate.Accelerator.gather`); `library.py` maps all import spellings to it.
`since` and `until` span the releases the row holds for: `since <= version < until`.
A parameter is a `(position, name)` pair; positions do not count `self`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from trl_lint.domain import ranks
from trl_lint.domain.constants import CREATED, ONE_PROCESS_FIRST, ONE_PROCESS_TRUE, WORLD_KIND, WORLD_SIZE, WORLD_TRUE
from trl_lint.domain.devices import GLOBAL_RANK, GLOBAL_SIZE
from trl_lint.domain.engines import SHARDS_CHECKPOINTS, SHARDS_PARAMETERS, TrainingEngine
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    IterableValue,
    LibraryInstance,
    LoadedFiles,
    LoaderValue,
    ModelRole,
    ModelValue,
    NoneValue,
    NumberValue,
    PureObject,
    StringValue,
    TensorValue,
    TupleValue,
    flag,
)
from trl_lint.domain.values import Value, Wrapping
from trl_lint.findings import Consequence

Parameter = tuple[int, str]
# For a function of which nothing else is known: any argument.
ANY: Parameter = (0, "*")


class Transfer(str, Enum):
    """The result of a function as a function of its arguments, if it is not one fixed value."""

    COPIED = "copied"  # a copy of its first argument
    FIELDS = "fields"  # a record of its keyword arguments
    FILLED = "filled"  # an object of each class that its receiver fills (see `Class.fills`)
    FILLED_AND_REST = "filled and rest"  # these, and a list of texts after them
    FIRST = "first"  # its first argument, unchanged
    FOR_TRAINING = "for training"  # its first argument, wrapped unless the argument `training` is false
    FOR_GENERATION = "for generation"  # the bare model of its first argument, which has to be the wrapped one
    INITIALIZED = "initialized"  # as `deepspeed.initialize`
    METRIC = "metric"  # a metric that is updated batch by batch
    MOVED = "moved"  # its first argument, on the device of this process
    PREPARED = "prepared"  # as `Accelerator.prepare`
    PURE = "pure"  # computed from its arguments alone
    ON_SOME_RANKS = "on some ranks"  # its first argument, a function, to be run on some ranks only: None on the others
    ADAPTED = "adapted"  # its first argument, with a trained part added
    SECOND = "second"  # its second argument, unchanged
    SLICED = "sliced"  # every n-th item of its first argument from a place on
    SET_UP = "set up"  # a model, in a wrapper that passes attributes on, and whatever else is passed
    SHARED_OUT = "shared out"  # loaders that give each rank its share, one for each argument
    SHARD = "shard"  # a piece of its first argument per rank
    UNWRAPPED = "unwrapped"  # the bare model of its first argument


class Synchronisation(NamedTuple):
    """What all ranks do together in a call that is no collective itself.

    Attributes:
        kind: Calls of one kind match each other.
        engines: The only engines under which it synchronises, such as FSDP and DeepSpeed ZeRO-3, which gather
            parameters there; empty for calls that always synchronise.
        symmetric: Whether every rank may make the call wherever one does: the main process alone writes or reports the
            result, or each rank its own part.
        unless: A keyword that, if true, makes the call one of this rank alone.
        only: A keyword that says whether the parameters are gathered.
        given: A keyword that must be true, or the call is one of this rank alone.
        allowed: The same for a keyword that is true where it is not passed.
        by_rank: Whether only a condition on the rank keeps ranks from it: others make the call at some other time.
        once: Whether another call on the same object has nothing left to send, unless something was added in between.
    """

    kind: str
    engines: frozenset[TrainingEngine] = frozenset()
    symmetric: bool = False
    unless: str = ""
    only: str = ""
    given: str = ""
    allowed: str = ""
    by_rank: bool = False
    once: bool = False


class Effect(NamedTuple):
    """A change of something that all ranks share: files, runs of a tracker, the hub.

    Attributes:
        does: What every rank does, for a message.
        path: The parameter for the place, or None if all ranks use the same place anyway.
        fails: Whether the ranks that come second get an exception.
        unless: Keywords, or parameters, that make the call correct on all ranks.
        shown: Whether the result is for a reader, and no other rank needs it.
        instead: How to do it correctly on all ranks, if that is simpler than to do it on one.
        optional: Whether all ranks use the same place even if no path is passed.
        apart: Whether any argument that differs between ranks makes their effects different.
        makes: Whether it creates something that then stays, so that only few ranks get here before it exists.
        given: A keyword that must be true, or nothing is done.
        looks: Whether it first tests if this has been done, so that it is correct if one rank is first.
        consequence: The result if no rank fails.
        in_hooks: The result in what a library runs, its classes and the functions it is given, if it is another one.
        in_turn: Whether it also does harm if the ranks do it one after the other, as a call that fails does.
        fetches: Whether it gets something that all ranks then read, so that the others have to wait for it.
        left_by: A regular expression for the code that leaves what it changes; empty if that may be there anyway.
    """

    does: str
    path: Parameter | None = None
    fails: bool = False
    unless: tuple[str | Parameter, ...] = ()
    shown: bool = False
    instead: str = ""
    optional: bool = False
    apart: bool = False
    makes: bool = False
    given: str = ""
    looks: bool = False
    consequence: Consequence = Consequence.RACE
    in_hooks: Consequence | None = None
    in_turn: bool = False
    fetches: bool = False
    left_by: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has.

    synchronises: what all ranks do together in the call, except for collectives, whose result says it.
    effect: what the call changes that all ranks share.
    """

    name: str
    source: str
    since: str = ""
    until: str = ""
    synchronises: Synchronisation | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueCall(Row):
    """A call of which only what every row says is known.

    Its result, and its effect on its arguments, is that of a call without a row.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective(Row):
    """A call that every rank must make.

    Attributes:
        operand: The parameter that it communicates.
        result: What the call does to the operand's facts: "gathered", "reduced", "broadcast", "padded", "scattered",
            "objects", "messages" or "barrier".
        into: The parameter that receives the result in place (for `all_reduce` the operand itself); None if the result
            is returned.
        lists: Whether a list or tuple of Python objects is correct.
        fails: When a Python number makes it raise: "group" (once a process group exists), "always" (with bare python as
            well) or "" (it accepts any object).
        same_shapes: Whether the tensors in any object that it accepts must have the same shape on all ranks.
        returned: Whether the result is returned although there is an `into`.
        reduction: The parameter that names the reduction, and its default.
        objects: The parameter that, when true, makes it communicate Python objects.
        root: The parameter that names the one rank that gets the result, and its default; None if all ranks get it.
        groups: The parameters that name the process group, if it accepts one.
        backward: Whether it has a backward pass, which sends gradients back; or the parameter that says so.
    """

    operand: Parameter = (0, "tensor")
    result: str = "gathered"
    into: Parameter | None = None
    lists: bool = False
    fails: str = "group"
    same_shapes: bool = False
    returned: bool = False
    reduction: tuple[int, str, str] | None = None
    objects: Parameter | None = None
    root: tuple[int, str, int] | None = None
    groups: tuple[Parameter, ...] = ()
    backward: bool | Parameter = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Row):
    """A function, method or constructor whose result is known.

    Attributes:
        returns: The value that it returns, or the name of a `Transfer`.
        yields: For a context manager, what `with f(...) as x` binds to `x` (a value or the name of a `Transfer`).
        switch: A parameter that, when true, makes it return `switched` instead. If it is not known whether it is true,
            the result is not known either.
        switched: What it returns if `switch` is true.
        first_rank: Whether the ranks run the body of its `with` statement one after the other: "node" (per node) or
            "job" (in the whole job).
        frozen: Whether nothing is trained in that body, as a model is its own reference there.
        seeds: Parameters of a call that draws, one of which makes all ranks draw the same.
        registers: For a function that registers the one it is passed: the method that calls that one, with `lists` and
            a folder.
        lists: The facts of the items of each list that the registered function is passed.
    """

    returns: Value | str = "pure"
    yields: Value | str | None = None
    switch: Parameter | None = None
    switched: Value | str = field(default_factory=Value)
    first_rank: str = ""
    frozen: bool = False
    seeds: tuple[Parameter, ...] = ()
    registers: str = ""
    lists: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation(Function):
    """A call that computes a whole data set, and writes it to a file that the next such call reads instead.

    work: the parameter for the work to do, without which it does nothing. uncached: parameters that, with this value,
    prevent it from writing or reading the file.
    """

    work: Parameter = (0, "function")
    uncached: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Row):
    """An attribute of an instance whose value is known.

    at_first: whether it has the value after the instance was created, whatever the arguments. If a file assigns another
    value, it is a setting like others.
    bare_in: the hooks during which it is a bare model instead: before the library wraps it, or while it saves a part.
    """

    value: Value
    at_first: bool = False
    bare_in: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook(Row):
    """A method that a library calls, or that subclasses inherit.

    Attributes:
        parameters: The facts of its arguments, in the order of the signature from the first one on (an override may use
            other names). For `TrainerCallback` hooks the keyword arguments follow.
        returns: What the library's own method returns, for `super().hook(...)` and inherited calls.
        yields, switch, switched: As for `Function`.
        stored: The part of its return value that its caller logs: an index into the returned tuple, or the name of a
            field. One with a name is logged by `evaluate`.
        gathered: The parts that its caller passes to a collective, by name.
        called: False for helpers of the library that are no entry points.
        caller: The hook that alone calls it in the library: a class that replaces that one decides what this one gets.
        trains: Whether its result is trained with.
    """

    parameters: Mapping[str, Value] = field(default_factory=dict)
    returns: Value | str = field(default_factory=Value)
    yields: Value | str | None = None
    switch: Parameter | None = None
    switched: Value | str = field(default_factory=Value)
    stored: int | str | None = None
    gathered: tuple[str, ...] = ()
    called: bool = True
    caller: str = ""
    trains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Row):
    """A call that logs metrics.

    form: "mapping" (a dict of them), "value" (one, after its name) or "below" (a dict, after a name for all of them).
    reduces: a keyword that, unless it is known to be false, makes the call reduce them over the ranks.
    only_in: the functions in which, or in whose helpers, it shows metrics of all data; any function if there are none.
    also_in: those in which it shows metrics of all data by which nothing is chosen: of a training or of a test.
    always: a keyword that, if it is true, says that it does in any function, and if it is false, that it does not.
    not_in: those in which it does not, even if they are called by one of these.
    """

    payload: Parameter = (0, "data")
    form: str = "mapping"
    reduces: str = ""
    only_in: frozenset[str] = frozenset()
    also_in: frozenset[str] = frozenset()
    always: str = ""
    not_in: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Row):
    """A container on a trainer (`Class.attribute`) whose contents the class's own `log` logs without a reduction."""

    # How deep the lists of values are nested: self._metrics[mode][key] is 2, self.stats[key] is 1.
    depth: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Class(Row):
    """A class of a library: its bases (canonical names), and the result of calling it.

    makes: a value, the name of a transfer (see `Function`), or "" for an instance of the class.
    others: the value of every attribute that has no row, and the result of every method without a row
    (None: nothing is known of them).
    fills: the parameter for classes of which its objects make objects, from what a command line or a file gives.
    """

    bases: tuple[str, ...] = ()
    makes: Value | str = ""
    others: Value | None = None
    fills: Parameter | None = None
    # Constructor arguments that are functions the library calls, with the facts of their parameters.
    callbacks: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    # Where in its signature those of them are that are usually passed without their names.
    places: Mapping[str, int] = field(default_factory=dict)


# --- values for rows ------------------------------------------------------------------------------------


def tensor(rank: ranks.Rank, *, scalar: bool = False, dtype: str = "") -> Value:
    return TensorValue(rank, scalar=scalar, dtype=dtype)


def number(rank: ranks.Rank, dtype: str = "") -> Value:
    return NumberValue(rank, scalar=True, dtype=dtype)


def instance(name: str, rank: ranks.Rank = ranks.SAME) -> LibraryInstance:
    """An instance of a library's class."""
    return LibraryInstance(name, rank)


def created(name: str) -> Value:
    """An instance of a library's class that the library has certainly created: it is not None."""
    return LibraryInstance(name).replace(const=CREATED)


# The device of this process: its type is the same on all ranks, but its name and its index differ.
OWN_DEVICE = instance("torch.device")
# The number of an object, `id(x)`: another one in each process, and asked for to compare objects.
IDENTITY = instance("builtins.id")


def on_one_rank(name: str) -> LibraryInstance:
    """An instance of a library's class on one rank, which is another object on the others."""
    return instance(name, ranks.RANK_LOCAL).replace(const=WORLD_TRUE)


def held(name: str) -> Value:
    """A list of instances of a library's class that is empty on all ranks but one."""
    return IterableValue(ranks.RANK_LOCAL, instance(name), ranks.HELD_BY_RANK)


def items(*values: Value) -> Value:
    """A tuple."""
    return TupleValue(ranks.SAME, values)


UNKNOWN = Value()
SAME = Value(ranks.SAME)
LOADED = LoadedFiles(ranks.SAME)
SETTING = Value(ranks.SAME, grad=False)  # a number, a flag or a text of a configuration
SETTING_OF_TEXTS = IterableValue(ranks.SAME, StringValue(ranks.SAME), ranks.SAME, grad=False)
NOTHING = NoneValue(ranks.SAME, const=None)
BATCH = BatchValue(ranks.SHARD)
LOADED_BATCH = BATCH.replace(grad=False)
# Accelerate knows the position of a batch in its loader: `gather_for_metrics` cuts off what follows the last sample.
PREPARED_BATCH = LOADED_BATCH.replace(wrapping=Wrapping.WRAPPED)
LOADER = LoaderValue(ranks.SAME, PREPARED_BATCH)
LOCAL_LOSS = tensor(ranks.LOCAL_MEAN, scalar=True, dtype="float")
LOCAL_TENSOR = tensor(ranks.SHARD)
REDUCED = Value(ranks.REDUCED)
# A dict of metrics: every entry has the fact.
LOCAL_METRICS = BatchValue(ranks.LOCAL, BatchRole.METRICS)
REDUCED_METRICS = BatchValue(ranks.REDUCED, BatchRole.METRICS)
SAME_METRICS = BatchValue(ranks.SAME, BatchRole.METRICS)
SAME_NUMBER = number(ranks.SAME)
GRADIENT_NORM = tensor(ranks.REDUCED, scalar=True, dtype="float")
RANK_INDEX = NumberValue(ranks.RANK_LOCAL, on_one_process=ONE_PROCESS_FIRST, scalar=True, dtype="int")
# The rank of this process in the whole job.
GLOBAL_RANK_INDEX = RANK_INDEX.replace(device=GLOBAL_RANK)
RANK_GUARD = NumberValue(ranks.RANK_LOCAL, on_one_process=ONE_PROCESS_TRUE, scalar=True, dtype="bool")
WORLD = NumberValue(ranks.SAME, const=WORLD_SIZE, scalar=True, dtype="int")
# The number of all processes in the job, not only of those on this node.
ALL_PROCESSES = WORLD.replace(device=GLOBAL_SIZE)
DISTRIBUTED_TYPE = Value(ranks.SAME, const=WORLD_KIND)
DISTRIBUTED = flag(WORLD_TRUE)
WRAPPED_MODEL = ModelValue(ranks.SAME, wrapping=Wrapping.WRAPPED)
REPLICATED_MODEL = ModelValue(
    ranks.SAME, role=ModelRole.REPLICATED, wrapping=Wrapping.WRAPPED
)  # each rank has all parameters
TRAINED_MODEL = ModelValue(ranks.SAME, role=ModelRole.TRAINED, wrapping=Wrapping.WRAPPED)
EVALUATED_MODEL = ModelValue(ranks.SAME, role=ModelRole.EVALUATED, wrapping=Wrapping.WRAPPED)
BARE_MODEL = ModelValue(ranks.SAME, wrapping=Wrapping.BARE)
# The bare form of the trained model: the module in the wrapper.
OWN_MODEL = ModelValue(ranks.SAME, role=ModelRole.TRAINED, wrapping=Wrapping.UNWRAPPED)
SOME_MODEL = ModelValue(ranks.SAME, wrapping=Wrapping.UNKNOWN)
# DDP reduces the gradients in a backward pass.
BACKWARD = Synchronisation("backward")
BARRIER = Synchronisation("barrier")
# A wrapper compares the parameters of the ranks and broadcasts those of the first.
WRAP = Synchronisation("wrap")
# A model is saved from its gathered parameters, and with its optimizer by all ranks together.
SAVE = Synchronisation("save", SHARDS_PARAMETERS, symmetric=True)
SAVE_CHECKPOINT = Synchronisation("save", SHARDS_CHECKPOINTS, symmetric=True)
# In the `with` statement of such a call the ranks assemble a state dict, if they request one.
STATE_OF_BLOCK = Synchronisation("state dict", symmetric=True)
# A callable object that only computes: a data collator, a tokenizer, a label smoother.
PURE = PureObject(ranks.SAME)

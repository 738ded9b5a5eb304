"""Calls of library code: what the knowledge tables say happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from trl_lint.analysis.events import UnwrappedForGeneration
from trl_lint.analysis.interpreter import attributes
from trl_lint.analysis.interpreter.callbacks import hand_over_to
from trl_lint.analysis.interpreter.collectives import collective
from trl_lint.analysis.interpreter.sinks import show
from trl_lint.analysis.observers import (
    backends,
    device_choice,
    gradient_sync,
    preprocessing,
    random_draws,
    rendezvous,
    side_effects,
)
from trl_lint.analysis.program.classes import ClassInfo
from trl_lint.analysis.program.objects import FunctionValue
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame, derived, explain
from trl_lint.analysis.transfer import tensor_averages, tensor_devices, tensor_functions, tensor_shapes
from trl_lint.analysis.transfer.tensor_sizes import shaped
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_FALSE
from trl_lint.domain.devices import Device
from trl_lint.domain.equality import alike
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    FirstRankContext,
    InstanceValue,
    IterableValue,
    LibraryInstance,
    LoaderValue,
    ModelRole,
    ModelValue,
    NumberValue,
    PreparedObject,
    TensorValue,
    TupleValue,
    is_data_parallel,
    is_small,
    library_name_of,
    role_of,
)
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.domain.writes import NO_WRITES
from trl_lint.knowledge import heuristics, library, torch_ops
from trl_lint.knowledge.schema import (
    BARE_MODEL,
    BATCH,
    LOADED_BATCH,
    LOADER,
    PREPARED_BATCH,
    Class,
    Collective,
    Function,
    Hook,
    Preparation,
    Row,
    Sink,
    Transfer,
)


def call_function(frame: Frame, dotted: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of a library's function or class by its dotted name."""
    name = library.canonical(dotted)
    preprocessing.note_start(frame, name, args)
    backends.called(frame, name, args)
    device_choice.indices_chosen(frame, name, args, node)
    side_effects.called(frame, name, args, node)
    drawn = random_draws.called(frame, name, args, node)
    if drawn is not None:
        return drawn
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, args, node)
    row = library.function(name, frame.engine.versions)
    if row is not None and not (isinstance(row, Hook)):
        return apply(frame, (row,), args, node, None)
    rendezvous.called(frame, name, node)
    made: Value | str | None = library.maker(name)
    if made is None:
        made = library.constructor(name, frame.engine.versions)
    if isinstance(made, Value):
        return made
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        return LibraryInstance(name)
    flat = spread(frame, args)
    tensor_row = torch_ops.of_function(name)
    found = tensor_functions.function(tensor_row, name, flat.positional, flat.keywords)
    if found is None:
        own = name.rpartition(".")[2]
        if heuristics.tells_rank(own) and not args.all():
            return attributes.named_rank(frame, own)
        return frame.engine.unresolved(frame, args, node)
    found = device_choice.located(frame, tensor_devices.made(tensor_row, name, args, found), node)
    found = shaped(found, tensor_shapes.of_function(frame, tensor_row, name, args))
    value = tensor_averages.of_function(frame, tensor_row, flat, node, _functional_loss(name, found, args))
    return random_draws.explained(frame, name, args, node, _explained(frame, value, node, name))


def _own_group(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    rendezvous.called(frame, "torch.distributed.new_group", node)
    return backends.own_group(SAME, args)


def _explained(frame: Frame, value: Value, node: cst.CSTNode, name: str) -> Value:
    if value.rank.differs and value.why is None:
        return value.but(why=frame.step(node, "`{}` differs between ranks"))
    return value


def spread(frame: Frame, args: Arguments) -> Arguments:
    """Containers among the arguments of a pure function count as their elements."""
    flat = Arguments(element_of(frame, value) for value in args.positional)
    for key, value in args.keywords.items():
        flat.keywords[key] = element_of(frame, value)
    flat.positional.extend(value for value in (args.star, args.double) if value is not None)
    return flat


def element_of(frame: Frame, value: Value) -> Value:
    """The join of what is inside a container, as one tensor's fact; other values as they are."""
    return _element_of(frame, value, _MAX_NESTED)


# How many containers are looked through for what is inside: one may hold itself.
_MAX_NESTED = 12


def _element_of(frame: Frame, value: Value, depth: int) -> Value:
    if value.kind in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE):
        if not depth:
            return UNKNOWN
        element, length = containers.iterate(frame, value)
        if element.rank.state is State.BOTTOM:
            element = SAME
        if element.kind in (Kind.CONTAINER, Kind.TUPLE):
            element = _element_of(frame, element, depth - 1)
        rank = element.rank
        if length.differs and rank.state is State.SAME:
            rank = Rank(State.SHARD, length.origins)
        elif length.state is State.UNKNOWN and rank.state is State.SAME:
            rank = ranks.UNKNOWN
        elif rank.state is State.PARTIAL:
            rank = Rank(State.LOCAL, rank.origins)
        return element.but(rank=rank, scalar=False, const=MISSING)
    return value


def _functional_loss(name: str, value: Value, args: Arguments) -> Value:
    """`F.cross_entropy(…)` is a mean over a count of this rank's own, unless it is told not to reduce."""
    if not (name.startswith("torch.nn.functional.") and heuristics.LOSS_FUNCTION.fits(name)):
        return value
    return _reduced_loss(value, args.keywords.get("reduction"))


def _reduced_loss(value: Value, reduction: Value | None) -> Value:
    if reduction is not None and reduction.const != "mean" and reduction.const != "sum":
        return value
    how = "sum" if reduction is not None and reduction.const == "sum" else "mean"
    rank = Rank(State.LOCAL, value.rank.origins, how) if value.rank.differs else value.rank
    return value.as_a(TensorValue, rank=rank, scalar=True, dtype="float")


def module_output(name: str, args: Arguments) -> Value:
    """What a module of torch.nn makes of its inputs."""
    value = pure_result(args)
    return _reduced_loss(value, None) if heuristics.LOSS_CLASS.fits(name) else value


# --- methods --------------------------------------------------------------------------------------------


def call_method(frame: Frame, owner: Value, cls: str, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of an instance of a library's class."""
    found = frame.engine.library_method(cls, name)
    if found is not None:
        return apply(frame, found[1], args, node, owner)
    value = frame.engine.library_attribute(cls, name)
    if value is not None and value.value.kind is not Kind.UNKNOWN:
        return frame.engine.call_value(frame, value.value, args, node)
    return frame.engine.unresolved(frame, args, node)


def call_inherited(frame: Frame, owner: Value, cls: ClassInfo, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method that a class in sight has from a base out of sight."""
    if name == "__init__":
        preprocessing.handed_over(frame, args, node)
    for base in cls.library_bases():
        found = frame.engine.library_method(base, name)
        if found is not None:
            return apply(frame, found[1], args, node, owner)
    unique = library.unique_method(name)
    if unique is not None and frame.engine.library_method(unique, name) is not None:
        return call_method(frame, owner, unique, name, args, node)
    return frame.engine.unresolved(frame, args, node)


def apply(frame: Frame, rows: Sequence[Row], args: Arguments, node: cst.CSTNode, owner: Value | None) -> Value:
    """What the rows of one function say its call does and returns."""
    for row in rows:
        if isinstance(row, Sink):
            return show(frame, row, args, node)
    row = rows[-1]
    rendezvous.called(frame, row.name, node)
    if isinstance(row, Collective):
        return collective(frame, row, args, node)
    if isinstance(row, Class):
        frame.trace.launched |= library.is_subclass(row.name, "transformers.Trainer", frame.engine.versions)
        hand_over_to(frame, row, args, node)
        return _constructed(frame, row, args, node)
    if isinstance(row, Preparation):
        preprocessing.tell(frame, row, args, node, owner)
    if isinstance(row, (Function, Hook)):
        spans = [each for each in rows if isinstance(each, (Function, Hook))]
        value = _returned(frame, spans, args, node)
        return random_draws.of_dataset(frame, row, args, node, owner, value) if isinstance(row, Function) else value
    return UNKNOWN


def _returned(frame: Frame, rows: Sequence[Function | Hook], args: Arguments, node: cst.CSTNode) -> Value:
    """What a call returns by its rows: one per span of releases that may be in use."""
    row = rows[-1]
    returns: Value | str = row.returns
    for other in rows[:-1]:
        returns = _common(returns, other.returns)
    if row.switch is not None:
        switch = args.get(*row.switch)
        if switch is not None and switch.const is not False:
            returns = row.switched if switch.const is True else UNKNOWN
    if isinstance(row, Function) and row.in_turn:
        frame.first_rank_calls[id(node)] = row.in_turn
        return FirstRankContext(row.in_turn)
    if isinstance(row, Function) and row.frozen:
        frame.no_train_calls.add(id(node))
    if row.yields is not None:
        frame.context_values[id(node)] = transferred(frame, row.yields, args, node, row.name)
    return transferred(frame, returns, args, node, row.name)


def _common(a: Value | str, b: Value | str) -> Value | str:
    """What holds in both of two spans of releases; where they disagree, and the one in use is not known, nothing."""
    if isinstance(a, str) or isinstance(b, str):
        return a if a == b else UNKNOWN
    return _common_value(a, b)


def _common_value(a: Value, b: Value) -> Value:
    if alike(a, b):
        return a
    if isinstance(a, TupleValue) and isinstance(b, TupleValue) and len(a.items) == len(b.items):
        return TupleValue(ranks.SAME, [_common_value(x, y) for x, y in zip(a.items, b.items, strict=True)])
    if role_of(a) is role_of(b) is BatchRole.METRICS:
        return BatchValue(ranks.UNKNOWN, BatchRole.METRICS)
    return UNKNOWN


def opened(frame: Frame, value: Value, node: Any) -> Value:
    """A table's dicts of metrics as containers in sight, which may get more entries."""
    if isinstance(value, TupleValue):
        return value.having(tuple(opened(frame, item, (node, index)) for index, item in enumerate(value.items)))
    if role_of(value) is BatchRole.METRICS:
        return frame.allocate(node, Cell("dict", rest=value.as_a(BatchValue)))
    return value


def transferred(frame: Frame, returns: Value | str, args: Arguments, node: cst.CSTNode, name: str) -> Value:
    """The value of a row's `returns` for these arguments."""
    if isinstance(returns, Value):
        if isinstance(returns, TupleValue) or role_of(returns) is BatchRole.METRICS:
            return opened(frame, explain(frame, returns, node, f"`{name.rpartition('.')[2]}` gives it unreduced"), node)
        if returns.rank.differs and returns.why is None:
            short = name.rpartition(".")[2]
            given = explain(frame, returns, node, f"`{short}` gives this rank's own value")
            return given.but(device=Device(given.device, given.why)) if given.device else given
        return returns
    return _TRANSFERS[Transfer(returns)](frame, args, node)


def _pure(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return pure_result(spread(frame, args))


def _first(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    values = args.all()
    return values[0] if values else UNKNOWN


def _copied(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return gradient_sync.copied(_first(frame, args, node))


def _prepared(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`accelerator.prepare(a, b)`: each wrapped according to what it is."""
    if args.star is not None:
        return UNKNOWN
    gradient_sync.wrapped_here(frame, args, node)
    random_draws.prepared(frame, args, node)
    results = tuple(prepared(frame, value, node) for value in args.positional)
    if len(results) == 1:
        return results[0]
    return TupleValue(ranks.SAME, results) if results and is_small(results) else UNKNOWN


def prepared(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """What `accelerator.prepare` makes of one of its arguments."""
    if isinstance(value, ModelValue):
        wrapping = Wrapping.WRAPPED if value.wrapping is not None else None
        why = frame.step(node, "it is prepared, and so wrapped, here")
        return value.with_facts_of(Value(ranks.SAME, wrapping=wrapping, why=why, grad=value.grad, device=value.device))
    if isinstance(value, LoaderValue):
        return LOADER.having(explain(frame, PREPARED_BATCH, node, "each rank gets its own batches from this loader"))
    if value.kind in (Kind.TUPLE, Kind.CONTAINER, Kind.NONE):
        return value
    if library_name_of(value).startswith("torch.nn.") and isinstance(value, LibraryInstance):
        why = frame.step(node, "it is prepared, and so wrapped, here")
        return ModelValue(ranks.SAME, wrapping=Wrapping.WRAPPED, why=why)
    if isinstance(value, InstanceValue) and not isinstance(value, PreparedObject):
        return value
    return PreparedObject(ranks.SAME, why=frame.step(node, "it is prepared here"))


def _unwrapped(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    model = next(iter(args.all()), UNKNOWN)
    if isinstance(model, PreparedObject):
        return gradient_sync.inside(frame, attributes.narrowed_to_model(model), node)
    if model.kind is not Kind.MODEL:
        return BARE_MODEL
    if model.wrapping is Wrapping.WRAPPED and not is_data_parallel(model):
        return gradient_sync.inside(frame, model, node)
    return model if model.wrapping is Wrapping.UNWRAPPED else model.but(wrapping=Wrapping.BARE, why=None)


def _for_generation(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    for_generation(frame, args, node)
    return _unwrapped(frame, args, node)


def for_generation(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """A context manager that generates with a wrapped model gets one."""
    model, argument = args.get(0, "model"), args.node(0, "model")
    if model is not None and model.kind is Kind.MODEL and argument is not None:
        frame.emit(UnwrappedForGeneration, node, model=model, argument=argument, cls=frame.cls)


def _shard(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return explain(frame, BATCH, node, "each rank gets its own piece")


def _on_some_ranks(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = _first(frame, args, node)
    if not isinstance(value, FunctionValue):
        return UNKNOWN
    return value.having(frame.engine.on_some_ranks(value.function))


def _moved(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = _first(frame, args, node)
    return value.but(device="") if value.device else value


_TRANSFERS = {
    Transfer.COPIED: _copied,
    Transfer.FIRST: _first,
    Transfer.FOR_GENERATION: _for_generation,
    Transfer.MOVED: _moved,
    Transfer.PREPARED: _prepared,
    Transfer.PURE: _pure,
    Transfer.ON_SOME_RANKS: _on_some_ranks,
    Transfer.SHARD: _shard,
    Transfer.UNWRAPPED: _unwrapped,
}


def entered(frame: Frame, call: Any, value: Value) -> Value:
    """What `with call as x` binds to x, given the call's value."""
    return value.element if isinstance(value, IterableValue) else value


def _constructed(frame: Frame, row: Class, args: Arguments, node: cst.CSTNode) -> Value:
    made = row.makes
    if isinstance(made, str):
        if not made:
            return LibraryInstance(row.name)
        return transferred(frame, made, args, node, row.name)
    if isinstance(made, ModelValue) and made.wrapping is Wrapping.WRAPPED:
        inner = args.positional[0] if args.positional else UNKNOWN
        if row.name == "torch.nn.DataParallel":  # one process, whose gradients nobody has to synchronise
            return made.having(ModelRole.DATA_PARALLEL).but(why=frame.step(node, "it is wrapped here"))
        gradient_sync.wrapped_here(frame, args, node)
        why = frame.step(node, "it is wrapped here")
        if not isinstance(inner, ModelValue):
            return made.but(why=why)
        return inner.with_facts_of(made.but(why=why, grad=inner.grad, device=inner.device))
    if made.kind is Kind.LOADER:
        return random_draws.loaded(frame, args, _loader(frame, args, node))
    return made


def _loader(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A DataLoader gives each rank its own batches only with a sampler that shards; `prepare` adds one."""
    sampler = args.keywords.get("sampler") or args.keywords.get("batch_sampler")
    if library_name_of(sampler) == "torch.utils.data.DistributedSampler":
        return LOADER.having(explain(frame, LOADED_BATCH, node, "each rank gets its own batches from this loader"))
    return LOADER.having(BatchValue(ranks.UNKNOWN))


# --- names with a meaning no row can say ----------------------------------------------------------------


def _getenv(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return attributes.environment(frame, args.positional[0]) if args.positional else SAME


def _on_disk(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """Whether there is a file: each rank looks for itself, at a moment of its own."""
    path = args.positional[0] if args.positional else UNKNOWN
    if path.rank == ranks.REDUCED:
        return SAME
    agreed = any(meeting.kind == "broadcast" for meeting in frame.sync_points)
    outside = path.rank.state is State.SAME or _is_named_from_outside(frame, args.expression(0))
    text = "it depends on the disk" if agreed or outside else rendezvous.OWN_FILE
    return NumberValue(ranks.IO_LOCAL, scalar=True, dtype="bool", why=frame.step(node, text))


def _is_named_from_outside(frame: Frame, stands: Any) -> bool:
    """Whether a path is a parameter or an attribute, or made of these alone."""
    parameters = {parameter.name for parameter in frame.function.parameters} if frame.function else set()
    return not isinstance(stands, cst.Name) or stands.value in parameters


def _default_dict(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    factory = args.positional[0] if args.positional else None
    cell = Cell("dict", factory=factory)
    if len(args.positional) > 1:
        cell = containers.merged_into(frame, cell, args.positional[1])
    return frame.allocate(node, cell)


def _deque(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    if args.positional and args.positional[0].kind is not Kind.NONE:
        element, length = containers.iterate(frame, args.positional[0])
        return frame.allocate(node, Cell("list", rest=element, length=length))
    return frame.allocate(node, Cell("list"))


def _ordered_dict(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    cell = Cell("dict")
    for value in args.positional:
        cell = containers.merged_into(frame, cell, value)
    return frame.allocate(node, cell)


def _partial(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return args.positional[0] if args.positional and len(args.all()) == 1 else UNKNOWN


def _is_peft_model(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """It asks for the class, which on a wrapped model is the wrapper's."""
    model = args.positional[0] if args.positional else UNKNOWN
    wrapped = model.kind is Kind.MODEL and model.wrapping is Wrapping.WRAPPED
    return NumberValue(ranks.SAME, const=WORLD_FALSE if wrapped else MISSING, scalar=True, dtype="bool")


_SPECIAL = {
    "accelerate.utils.is_peft_model": _is_peft_model,
    "peft.is_peft_model": _is_peft_model,
    "transformers.trainer.is_peft_model": _is_peft_model,
    "trl.models.utils.is_peft_model": _is_peft_model,
    "trl.trainer.utils.is_peft_model": _is_peft_model,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "functools.partial": _partial,
    "os.environ.get": _getenv,
    "torch.distributed.new_group": _own_group,
    "os.getenv": _getenv,
    **dict.fromkeys(("os.path.exists", "os.path.isdir", "os.path.isfile"), _on_disk),
    "torch.enable_grad": gradient_sync.enable_grad,
    "torch.inference_mode": gradient_sync.no_grad,
    "torch.no_grad": gradient_sync.no_grad,
    "torch.set_grad_enabled": gradient_sync.set_grad_enabled,
}


def pure_result(args: Arguments) -> Value:
    """What a callable that only computes makes of its arguments."""
    rank = ranks.nonlinear(args.rank())
    return derived(rank, Kind.BATCH, *args.all(), grad=True).but(writes=NO_WRITES)

"""Calls of library code: what the knowledge tables say happens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import libcst as cst

from trl_lint.analysis.events import CollectiveCalled, Logged, UnwrappedForGeneration
from trl_lint.analysis.interpreter import assignment, attributes
from trl_lint.analysis.observers import (
    backends,
    device_choice,
    gradient_sync,
    preprocessing,
    random_draws,
    rendezvous,
    side_effects,
)
from trl_lint.analysis.program.classes import ClassInfo, alike
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import NUMERIC, Frame, derived
from trl_lint.analysis.transfer import tensor_averages, tensor_devices, tensor_shapes, tensors
from trl_lint.domain import ranks, values
from trl_lint.domain.devices import Place
from trl_lint.domain.heap import Cell
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import (
    DATA_PARALLEL,
    MISSING,
    NO_WRITES,
    NONE,
    SAME,
    UNKNOWN,
    WORLD_FALSE,
    Kind,
    Value,
    Wrapping,
    is_small,
)
from trl_lint.knowledge import library
from trl_lint.knowledge.schema import (
    ANY,
    BARE_MODEL,
    BATCH,
    LOADED_BATCH,
    LOADER,
    METRICS,
    PREPARED_BATCH,
    PURE,
    Class,
    Collective,
    Function,
    Hook,
    Preparation,
    Row,
    Sink,
    Transfer,
)
from trl_lint.knowledge.torch_distributed import RANK_NAMES

PURE_OBJECT = PURE.data


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
        return Value(ranks.SAME, Kind.INSTANCE, name)
    flat = spread(frame, args)
    found = tensors.function(name, flat.positional, flat.keywords)
    if found is None:
        own = name.rpartition(".")[2]
        if own in RANK_NAMES and not args.all():
            return attributes.named_rank(frame, own)
        return frame.engine.unresolved(frame, args, node)
    found = device_choice.located(frame, tensor_devices.made(name, args, found), node)
    found = tensor_shapes.shaped(found, tensor_shapes.of_function(frame, name, args))
    value = tensor_averages.of_function(frame, name, flat, node, _functional_loss(name, found, args))
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
    if value.kind in (Kind.CELLS, Kind.RANGE, Kind.TUPLE):
        if not depth:
            return UNKNOWN
        element, length = containers.iterate(frame, value)
        if element.rank.state is State.BOTTOM:
            element = SAME
        if element.kind in (Kind.CELLS, Kind.TUPLE):
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


_LOSSES = ("_loss", "cross_entropy", "nll_loss", "kl_div")


def _functional_loss(name: str, value: Value, args: Arguments) -> Value:
    """`F.cross_entropy(…)` is a mean over a count of this rank's own, unless it is told not to reduce."""
    if not (name.startswith("torch.nn.functional.") and name.endswith(_LOSSES)):
        return value
    return _reduced_loss(value, args.keywords.get("reduction"))


def _reduced_loss(value: Value, reduction: Value | None) -> Value:
    if reduction is not None and reduction.const != "mean" and reduction.const != "sum":
        return value
    how = "sum" if reduction is not None and reduction.const == "sum" else "mean"
    rank = Rank(State.LOCAL, value.rank.origins, how) if value.rank.differs else value.rank
    return value.but(rank=rank, kind=Kind.TENSOR, scalar=True, dtype="float")


def module_output(name: str, args: Arguments) -> Value:
    """What a module of torch.nn makes of its inputs."""
    value = pure_result(args)
    return _reduced_loss(value, None) if name.endswith("Loss") else value


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
        frame.in_turn[id(node)] = row.in_turn
        return Value(ranks.SAME, data=preprocessing.TURNS[row.in_turn])
    if isinstance(row, Function) and row.frozen:
        frame.frozen.add(id(node))
    if row.yields is not None:
        frame.entered[id(node)] = transferred(frame, row.yields, args, node, row.name)
    return transferred(frame, returns, args, node, row.name)


def _common(a: Value | str, b: Value | str) -> Value | str:
    """What holds in both of two spans of releases; where they disagree, and the one in use is not known, nothing."""
    if isinstance(a, str) or isinstance(b, str):
        return a if a == b else UNKNOWN
    if alike(a, b):
        return a
    if a.kind is b.kind is Kind.TUPLE and len(a.data) == len(b.data):
        items = tuple(_common(x, y) for x, y in zip(a.data, b.data, strict=True))
        return Value(ranks.SAME, Kind.TUPLE, items)
    if a.data == b.data == METRICS:
        return Value(ranks.UNKNOWN, Kind.BATCH, METRICS)
    return UNKNOWN


def opened(frame: Frame, value: Value, node: Any) -> Value:
    """A table's dicts of metrics as containers in sight, which may get more entries."""
    if value.kind is Kind.TUPLE:
        items = tuple(opened(frame, item, (node, index)) for index, item in enumerate(value.data))
        return value.but(data=items)
    if value.kind is Kind.BATCH and value.data == METRICS:
        return frame.allocate(node, Cell("dict", rest=value.but(data=None)))
    return value


def transferred(frame: Frame, returns: Value | str, args: Arguments, node: cst.CSTNode, name: str) -> Value:
    """The value of a row's `returns` for these arguments."""
    if isinstance(returns, Value):
        if returns.kind is Kind.TUPLE or returns.data == METRICS:
            return opened(frame, explain(frame, returns, node, f"`{name.rpartition('.')[2]}` gives it unreduced"), node)
        if returns.rank.differs and returns.why is None:
            short = name.rpartition(".")[2]
            given = explain(frame, returns, node, f"`{short}` gives this rank's own value")
            return given.but(place=Place(given.place, given.why)) if given.place else given
        return returns
    return _TRANSFERS[Transfer(returns)](frame, args, node)


def explain(frame: Frame, value: Value, node: cst.CSTNode, text: str) -> Value:
    """A table's value, with the place it came from."""
    why = frame.step(node, text)
    if value.kind is Kind.TUPLE:
        items = tuple(item.but(why=why) if item.rank.differs else item for item in value.data)
        return value.but(data=items)
    return value.but(why=why)


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
    return Value(ranks.SAME, Kind.TUPLE, results) if results and is_small(results) else UNKNOWN


def prepared(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    if value.kind is Kind.MODEL:
        wrapping = Wrapping.WRAPPED if value.wrapping is not None else None
        return Value(
            ranks.SAME,
            Kind.MODEL,
            value.data,
            wrapping=wrapping,
            why=frame.step(node, "it is prepared, and so wrapped, here"),
            grad=value.grad,
            place=value.place,
        )
    if value.kind is Kind.LOADER:
        return LOADER.but(data=explain(frame, PREPARED_BATCH, node, "each rank gets its own batches from this loader"))
    if value.kind in (Kind.TUPLE, Kind.CELLS, Kind.NONE):
        return value
    if value.kind is Kind.INSTANCE and isinstance(value.data, str) and value.data.startswith("torch.nn."):
        return Value(
            ranks.SAME,
            Kind.MODEL,
            wrapping=Wrapping.WRAPPED,
            why=frame.step(node, "it is prepared, and so wrapped, here"),
        )
    if value.kind is Kind.INSTANCE and value.data != values.PREPARED:
        return value
    return Value(ranks.SAME, Kind.INSTANCE, values.PREPARED, why=frame.step(node, "it is prepared here"))


def _unwrapped(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    model = next(iter(args.all()), UNKNOWN)
    if model.kind is Kind.INSTANCE and model.data == values.PREPARED:
        return gradient_sync.inside(frame, attributes.narrowed_to_model(model), node)
    if model.kind is not Kind.MODEL:
        return BARE_MODEL
    if model.wrapping is Wrapping.WRAPPED and model.data != DATA_PARALLEL:
        return gradient_sync.inside(frame, model, node)
    return model if model.wrapping is Wrapping.INSIDE else model.but(wrapping=Wrapping.BARE, why=None)


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
    if value.kind is not Kind.FUNCTION:
        return UNKNOWN
    return value.but(data=frame.engine.on_some_ranks(value.data))


def _moved(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = _first(frame, args, node)
    return value.but(place="") if value.place else value


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
    if value.kind is Kind.RANGE:
        element: Value = value.data[0]
        return element
    return value


def _constructed(frame: Frame, row: Class, args: Arguments, node: cst.CSTNode) -> Value:
    made = row.makes
    if isinstance(made, str):
        if not made:
            return Value(ranks.SAME, Kind.INSTANCE, row.name)
        return transferred(frame, made, args, node, row.name)
    if made.kind is Kind.MODEL and made.wrapping is Wrapping.WRAPPED:
        inner = args.positional[0] if args.positional else UNKNOWN
        if row.name == "torch.nn.DataParallel":  # one process, whose gradients nobody has to synchronise
            return made.but(data=DATA_PARALLEL, why=frame.step(node, "it is wrapped here"))
        gradient_sync.wrapped_here(frame, args, node)
        why = frame.step(node, "it is wrapped here")
        if inner.kind is not Kind.MODEL:
            return made.but(why=why)
        return made.but(data=inner.data, why=why, grad=inner.grad, place=inner.place)
    if made.kind is Kind.LOADER:
        return random_draws.loaded(frame, args, _loader(frame, args, node))
    return made


def _loader(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A DataLoader gives each rank its own batches only with a sampler that shards; `prepare` adds one."""
    sampler = args.keywords.get("sampler") or args.keywords.get("batch_sampler")
    sharded = "torch.utils.data.DistributedSampler"
    if sampler is not None and sampler.kind is Kind.INSTANCE and sampler.data == sharded:
        return LOADER.but(data=explain(frame, LOADED_BATCH, node, "each rank gets its own batches from this loader"))
    return LOADER.but(data=Value(ranks.UNKNOWN, Kind.BATCH))


# --- collectives ----------------------------------------------------------------------------------------


def collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """A collective: told to the rules, and applied to the facts."""
    rendezvous.communicated(frame, row, args, node)
    if row.result == "barrier":
        frame.meets = True
        return NONE
    if row.operand is ANY:
        return _own_collective(frame, row, args, node)
    operand = args.get(*row.operand)
    if operand is None:
        return _starred_collective(frame, row, args, node)
    result = _communicated(frame, row, args, operand, node)
    if row.into is not None:
        target = args.node(*row.into)
        receiver = args.get(*row.into)
        if target is not None and receiver is not None:
            _receive(frame, target.value, receiver, result)
        return result if row.returned else NONE
    return result


# What a function of the user's own may be given besides what it communicates.
_BESIDES = frozenset({
    Kind.BOUND, Kind.CLASS, Kind.FUNCTION, Kind.INSTANCE, Kind.LOADER, Kind.MODEL, Kind.MODULE, Kind.NONE, Kind.STRING,
})  # fmt: skip


def _own_collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """A collective whose parameters are not known: the first data among its arguments are its operand."""
    operand = next((value for value in args.all() if value.kind not in _BESIDES), None)
    if frame.discarded is node:
        _work_in_place(frame, row, args, operand, node)
    return Value(ranks.REDUCED) if operand is None else _result(frame, row, operand, node)


def _work_in_place(frame: Frame, row: Collective, args: Arguments, operand: Value | None, node: cst.CSTNode) -> None:
    """A collective whose result is thrown away changes what it is given: a tensor as it says, others somehow."""
    given = (*enumerate(args.positional), *args.keywords.items())
    argument = next((args.nodes.get(key) for key, value in given if value is operand), None)
    told = row.result in ("broadcast", "reduced")
    if told and argument is not None and operand is not None and operand.kind in (Kind.TENSOR, Kind.UNKNOWN):
        assignment.rebind(frame, argument.value, _result(frame, row, operand, node))
    else:
        frame.engine.unresolved(frame, args, node)


def _starred_collective(frame: Frame, row: Collective, args: Arguments, node: cst.CSTNode) -> Value:
    """`gather(*values)`: what is communicated is one of them."""
    starred = next((arg for arg in node.args if arg.star == "*"), None) if isinstance(node, cst.Call) else None
    if args.star is None or starred is None or not row.fails:
        return SAME if args.all() else UNKNOWN
    frame.emit(CollectiveCalled, node, row=row, operand=args.star, argument=starred, parts=(args.star,))
    return _result(frame, row, args.star, node)


def _communicated(frame: Frame, row: Collective, args: Arguments, operand: Value, node: cst.CSTNode) -> Value:
    objects = args.get(*row.objects) if row.objects is not None else None
    if objects is not None and objects.const is not False:
        return _gathered_objects(frame, operand, node)
    argument = args.node(*row.operand)
    if argument is not None and row.fails:
        frame.emit(
            CollectiveCalled,
            node,
            row=row,
            operand=operand,
            argument=argument,
            numbers=_numbers(frame, operand),
            parts=parts_of(frame, operand),
            accelerator=frame.accelerator(),
            stepping=frame.stepping,
            groups=tuple(rendezvous.groups_of(row, args)),
        )
    return _result(frame, row, operand, node, _reduction(row, args), args)


def _reduction(row: Collective, args: Arguments) -> str:
    """How a collective reduces: "" when it does not, "?" when that is not known."""
    if row.reduction is None:
        return ""
    given = args.get(*row.reduction[:2])
    if given is None:
        return row.reduction[2]
    said = given.const if isinstance(given.const, str) else given.data if given.kind is Kind.MODULE else None
    name = said.rpartition(".")[2].lower() if isinstance(said, str) else "?"
    return {"avg": "mean"}.get(name, name)


def parts_of(frame: Frame, operand: Value, depth: int = 2) -> tuple[Value, ...]:
    """The tensors that a collective is given: the operand, or what the containers that it is hold."""
    if operand.kind is Kind.TUPLE and depth:
        return tuple(part for item in operand.data for part in parts_of(frame, item, depth - 1))
    if operand.kind is Kind.CELLS and depth:
        cells = frame.memory.cells(operand)
        return tuple(part for cell in cells for item in cell.values() for part in parts_of(frame, item, depth - 1))
    return (operand,)


def _numbers(frame: Frame, operand: Value) -> tuple[str, ...]:
    """The entries of a dict (or the items of a list) that are Python numbers."""
    if operand.kind is not Kind.CELLS:
        return ()
    found = []
    for cell in frame.memory.cells(operand):
        for key, value in cell.entries.items():
            if value.kind in (Kind.NUMBER, Kind.NUMBERS):
                found.append(f"{cell.shape}:{key}")
        if cell.rest is not None and cell.rest.kind in (Kind.NUMBER, Kind.NUMBERS):
            found.append(f"{cell.shape}:")
    return tuple(found)


def _result(
    frame: Frame, row: Collective, operand: Value, node: cst.CSTNode, reduction: str = "", args: Arguments | None = None
) -> Value:
    if operand.rank.state is State.BOTTOM:
        return operand
    if row.result == "padded":
        return tensor_shapes.padded(frame, operand, args or Arguments(), node)
    if row.result == "objects":
        return _gathered_objects(frame, operand, node)
    if row.result == "messages":
        return UNKNOWN  # one for each rank, which may say the same to all
    if row.result == "scattered":
        return explain(frame, Value(ranks.SHARD, Kind.TENSOR), node, "each rank receives its own piece")
    how = reduction or (row.reduction[2] if row.reduction is not None else row.result)
    return gathered(frame, operand, node, scalar=row.result in ("reduced", "broadcast"), how=how)


def gathered(frame: Frame, value: Value, node: cst.CSTNode, scalar: bool, how: str = "gathered") -> Value:
    """A value after a collective that gathers or reduces: the same on all ranks, containers entry by entry."""

    def communicated(item: Value, place: Any) -> Value:
        return _communicated_item(frame, item, place, scalar, how)

    def renewed(cell: Cell, entries: dict[Any, Value], rest: Value | None) -> Cell:
        return Cell(cell.shape, entries, rest)

    return containers.each(frame, value, node, communicated, renewed)


def _communicated_item(frame: Frame, value: Value, node: cst.CSTNode, scalar: bool, how: str) -> Value:
    if value.kind is Kind.CELLS:
        return Value(ranks.REDUCED)
    kind = Kind.TENSOR if value.kind in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER, Kind.NUMBERS) else value.kind
    own = tensor_averages.collected(frame, value, node, how)
    return derived(ranks.REDUCED, kind, dtype=value.dtype, scalar=scalar and value.scalar, own=own)


def _gathered_objects(frame: Frame, operand: Value, node: cst.CSTNode) -> Value:
    """Every rank's Python objects in one list."""
    is_several = operand.kind in (Kind.CELLS, Kind.RANGE, Kind.TUPLE)
    element = containers.iterate(frame, operand)[0] if is_several else operand
    return frame.allocate(node, Cell("list", rest=_agreed(frame, element, node)))


def _agreed(frame: Frame, element: Value, node: cst.CSTNode) -> Value:
    if element.kind is Kind.TUPLE:
        return Value(ranks.REDUCED, Kind.TUPLE, tuple(_agreed(frame, item, node) for item in element.data))
    kind = element.kind if element.kind in (Kind.NUMBER, Kind.TENSOR, Kind.STRING) else Kind.UNKNOWN
    own = tensor_averages.collected(frame, element, node, "gathered")
    return Value(ranks.REDUCED, kind, dtype=element.dtype, scalar=element.kind is Kind.NUMBER, own=own)


def _receive(frame: Frame, target: cst.CSTNode, receiver: Value, result: Value) -> None:
    """A collective that fills its argument in place: useless on a temporary."""
    if receiver.kind is Kind.CELLS:
        element = result
        if result.kind is Kind.CELLS:
            element = containers.iterate(frame, result)[0]
        frame.update(receiver, lambda cell: Cell(cell.shape, rest=element))
    else:
        if result.kind is Kind.CELLS:
            result = Value(ranks.REDUCED)
        assignment.rebind(frame, target, result)


# --- sinks ----------------------------------------------------------------------------------------------


def show(frame: Frame, row: Sink, args: Arguments, node: cst.CSTNode) -> Value:
    """A call that shows metrics: each value in it that differs between ranks is told to the rules."""
    frame.trace.shows = True
    if row.payload is ANY:
        _show_all(frame, row, args, node)
        return NONE
    payload = args.get(*row.payload)
    if payload is not None:
        tag = args.positional[0].const if args.positional and row.form == "value" else ""
        named = tag.replace("\0", "…") if isinstance(tag, str) else ""
        argument = args.node(*row.payload)
        stands = None if argument is None else argument.value
        report(frame, row.name, payload, node, mapping=row.form == "mapping", named=named, stands=stands)
    elif row.form == "mapping":
        for value in args.keywords.values():
            report(frame, row.name, value, node, mapping=True)
    return NONE


def _show_all(frame: Frame, row: Sink, args: Arguments, node: cst.CSTNode) -> None:
    """A sink whose parameters are not known shows all it is given: a name, if there is one, comes first."""
    first = args.positional[0].const if args.positional else ""
    tag = first.replace("\0", "…") if isinstance(first, str) else ""
    for index, value in enumerate(args.positional):
        report(frame, row.name, value, node, mapping=True, named=tag, stands=args.expression(index))
    for rest in (args.star, args.double):
        if rest is not None:
            report(frame, row.name, rest, node, mapping=True, named=tag)
    for name, value in args.keywords.items():
        report(frame, row.name, value, node, mapping=True, named=tag or name, stands=args.expression(name))


def report(
    frame: Frame, sink: str, payload: Value, node: cst.CSTNode, *, mapping: bool, named: str = "", stands: Any = None
) -> None:
    """Tell the rules of every value that differs in what a sink is given.

    If it is one value, `named` is its name and `stands` the expression that it is the value of. Where no statement
    does so, the one that put a value there is told of, if it is in sight.
    """
    for key, value in islice(entries(frame, payload, 3 if mapping else 1), _MAX_SHOWN):
        what = key or named
        if frame.statement is None and not value.writes:
            continue
        if value.rank.differs and value.kind in NUMERIC:
            marked = frame.written(value, what, stands if value is payload else None)
            frame.emit(
                Logged,
                node,
                tag=(sink, what, value.writes),
                sink=sink,
                what=what,
                value=value,
                writes=marked.writes,
            )


# How many metrics of one call are looked at: containers may hold each other.
_MAX_SHOWN = 10_000


def entries(frame: Frame, payload: Value, depth: int) -> Iterator[tuple[str, Value]]:
    """The metrics inside what a sink is given, by name."""
    if payload.kind is Kind.CELLS and depth > 0:
        frame.consume(payload)
        for cell in frame.memory.cells(payload):
            for key, value in cell.entries.items():
                name = key.replace("\0", "…") if isinstance(key, str) else ""
                for inner, found in entries(frame, value, depth - 1):
                    yield inner or name, found
            if cell.rest is not None:
                yield from entries(frame, cell.rest, depth - 1)
    elif payload.kind is Kind.RANGE:
        yield from entries(frame, payload.data[0], depth - 1)
    elif payload.kind not in (Kind.CELLS, Kind.TUPLE):
        yield "", payload


# --- functions handed to libraries ----------------------------------------------------------------------


def hand_over(frame: Frame, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> None:
    """A trainer in sight is built: functions given to it are called by its library base."""
    for base in cls.library_bases():
        row = frame.engine.class_row(base)
        if row is not None:
            hand_over_to(frame, row, args, node)


def hand_over_to(frame: Frame, row: Class, args: Arguments, node: cst.CSTNode) -> None:
    preprocessing.handed_over(frame, args, node)
    random_draws.handed_over(frame, row.name, args, node)
    for parameter, facts_of in _callbacks(frame, row).items():
        value = args.keywords.get(parameter)
        if value is not None:
            for function in _functions(frame, value):
                frame.engine.enter(function, facts_of)


def _callbacks(frame: Frame, row: Class) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in library.mro(row.name, frame.engine.versions):
        each = frame.engine.class_row(name)
        if each is not None:
            for parameter, facts_of in each.callbacks.items():
                merged.setdefault(parameter, facts_of)
    return merged


def _functions(frame: Frame, value: Value) -> Iterable[Any]:
    if value.kind is Kind.FUNCTION:
        yield value.data
    elif value.kind is Kind.TUPLE:
        for item in value.data:
            yield from _functions(frame, item)
    elif value.kind is Kind.CELLS:
        for cell in frame.memory.cells(value):
            for item in cell.values():
                if item.kind is Kind.FUNCTION:
                    yield item.data


# --- names with a meaning no row can say ----------------------------------------------------------------


def _getenv(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return attributes.environment(frame, args.positional[0]) if args.positional else SAME


def _on_disk(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """Whether there is a file: each rank looks for itself, at a moment of its own."""
    path = args.positional[0] if args.positional else UNKNOWN
    if path.rank == ranks.REDUCED:
        return SAME
    agreed = any(meeting.kind == "broadcast" for meeting in frame.meetings)
    outside = path.rank.state is State.SAME or _is_named_from_outside(frame, args.expression(0))
    text = "it depends on the disk" if agreed or outside else rendezvous.OWN_FILE
    return Value(ranks.IO_LOCAL, Kind.NUMBER, scalar=True, dtype="bool", why=frame.step(node, text))


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
    return Value(ranks.SAME, Kind.NUMBER, const=WORLD_FALSE if wrapped else MISSING, scalar=True, dtype="bool")


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

"""Results that a row derives from the arguments: wrapped, unwrapped, copied, sharded, constructed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import libcst as cst

from trl_lint.analysis.events import UnwrappedForGeneration
from trl_lint.analysis.interpreter.calls import asked_samplers, filled_classes
from trl_lint.analysis.interpreter.objects.subscripts import chosen_by
from trl_lint.analysis.interpreter.operations import dict_constructors, metrics
from trl_lint.analysis.interpreter.operations.pure_calls import pure_result, spread
from trl_lint.analysis.program.definitions.lightning_trainers import has_one_device
from trl_lint.analysis.program.definitions.objects import FunctionValue, PreparedModel, ProjectInstance, ProjectModel
from trl_lint.analysis.program.definitions.self_trained import as_wrappable
from trl_lint.analysis.program.idioms.samplers import deals_to_one, kind_tests
from trl_lint.analysis.program.idioms.weights_only import uses_only_weights
from trl_lint.analysis.program.project.classes import has_forward
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import ACCELERATOR, Frame, explain
from trl_lint.analysis.transfer.data import dealt_lengths, own_shares
from trl_lint.analysis.transfer.data.own_samplers import deals_itself, goes_through_own
from trl_lint.analysis.transfer.data.seeded_samplers import draws_its_own
from trl_lint.analysis.transfer.models import engine_models, trained_apart, wrapped_models
from trl_lint.analysis.transfer.models.refused_wrappers import is_refused
from trl_lint.analysis.transfer.models.wrapper_options import made_by_ddp
from trl_lint.analysis.transfer.processes import own_worlds
from trl_lint.domain import ranks
from trl_lint.domain.choices import OneOfProjectObjects
from trl_lint.domain.constants import CREATED, MISSING, PRESENT, WORLD_SIZE
from trl_lint.domain.devices import MAYBE_FROZEN, Device
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    ContainerValue,
    InstanceValue,
    IterableValue,
    LibraryInstance,
    LoadedFiles,
    LoaderValue,
    ModelRole,
    ModelValue,
    PreparedObject,
    SamplerForOne,
    ShardingAccelerator,
    TupleValue,
    class_name_of,
    library_name_of,
    role_of,
)
from trl_lint.domain.model_roles import is_replicated
from trl_lint.domain.provenance import FullBatches, Prepared, WrappedHere
from trl_lint.domain.small_tuples import is_small
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import engines, library
from trl_lint.knowledge.accelerate import FSDP_PLUGIN, PADS_SHARES
from trl_lint.knowledge.datasets import DROPS_INCOMPLETE
from trl_lint.knowledge.lightning import ALONE, WRAPS_IN_DDP, WRAPS_OTHERWISE
from trl_lint.knowledge.models import is_layer
from trl_lint.knowledge.schema import (
    BARE_MODEL,
    BATCH,
    LOADED_BATCH,
    LOADER,
    PREPARED_BATCH,
    WRAPPED_MODEL,
    Class,
    Transfer,
)
from trl_lint.knowledge.sharing_loaders import is_sharing_sampler
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER

_NOT_OF_MODELS = library.OPTIMIZER_LOADER_ATTRIBUTES - library.WRAPPER_ATTRIBUTES
_KEEP_SAMPLERS = frozenset({"batch_sampler", "use_distributed_sampler"})
_PREPARED = "`prepare` returns it here: a wrapped model, or a loader with this rank's own batches"


def transferred(frame: Frame, returns: Value | str, args: Arguments, node: cst.CSTNode, name: str) -> Value:
    """The value of a row's `returns` for these arguments."""
    if isinstance(returns, Value):
        if isinstance(returns, TupleValue) or role_of(returns) is BatchRole.METRICS:
            return opened(
                frame,
                explain(frame, returns, node, f"`{name.rpartition('.')[2]}` returns each rank's own values"),
                node,
            )
        if returns.rank.differs and returns.provenance is None:
            short = name.rpartition(".")[2]
            explained = explain(frame, returns, node, f"`{short}` returns this rank's own value")
            return (
                explained.replace(device=Device(explained.device, explained.provenance))
                if explained.device
                else explained
            )
        return returns
    return _TRANSFERS[Transfer(returns)](frame, args, node)


def opened(frame: Frame, value: Value, node: cst.CSTNode | tuple[Hashable, ...]) -> Value:
    """Replace a table's dicts of metrics by containers with known entries, which may get more of them."""
    if isinstance(value, TupleValue):
        return value.with_parts(tuple(opened(frame, item, (node, index)) for index, item in enumerate(value.items)))
    if role_of(value) is BatchRole.METRICS:
        return frame.allocate(node, Cell("dict", rest=value.as_a(BatchValue)))
    return value


def _pure(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return pure_result(spread(frame, args))


def _fields(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    if args.positional or args.star is not None or args.double is not None:
        return _pure(frame, args, node)  # which fields are meant is not known here
    return frame.allocate(node, Cell("dict", dict_constructors.entries_of(frame, args)))


def _first(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    values = args.all()
    return values[0] if values else UNKNOWN


def _sliced(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`islice(rows, start, stop, step)`: rows of this rank if its number decides where they begin."""
    rows, start = _first(frame, args, node), args.positional[1] if len(args.positional) == _ARGUMENTS_OF_SHARE else SAME
    if not start.rank.is_by_place:
        return dealt_lengths.first_of(frame, args, rows)
    element, _ = containers.iterate(frame, rows)
    return IterableValue(ranks.SAME, chosen_by(start, element), dealt_lengths.of_sliced(frame, args, start))


# Those of `islice`, if it leaves out items.
_ARGUMENTS_OF_SHARE = 4


def _second(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    values = args.all()
    return values[1] if len(values) > 1 else UNKNOWN


def _adapted(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    model = _first(frame, args, node)
    return model.replace(grad=True) if model.kind is Kind.MODEL and not model.grad else model


def _copied(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = wrapped_models.copied(_first(frame, args, node))
    cells = frame.memory.cells(value) if isinstance(value, ContainerValue) else []
    return frame.allocate(node, cells[0]) if len(cells) == 1 else value  # what one gets from now on, the other has not


def _prepared(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`accelerator.prepare(a, b)`: each argument wrapped according to its kind."""
    rest = _starred_values(frame, args, node)
    if rest is None:
        return UNKNOWN
    wrapped_models.note_wrapped(frame, args, node)
    results = tuple(prepared(frame, value, node) for value in (*args.positional, *rest))
    if len(results) == 1:
        return results[0]
    return TupleValue(ranks.SAME, results) if results and is_small(results) else UNKNOWN


def _initialized(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`deepspeed.initialize(model=model)`: an engine, which runs the model, and what comes with it."""
    returned = transferred(frame, engines.INITIALIZED, args, node, "deepspeed.initialize")
    engine, *others = returned.items
    return returned.with_parts((engine_models.engine_of(args.get(*engines.MODEL_OF_ENGINE), engine), *others))


def _shared_out(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fabric.setup_dataloaders(a, b)`: it gives each loader a sampler for this rank's share, unless told not to."""
    is_open = args.star is not None or args.double is not None
    if is_open or not _KEEP_SAMPLERS.isdisjoint(args.keywords) or not args.positional:
        return UNKNOWN
    loaders = tuple(LOADER.with_parts(explain(frame, LOADED_BATCH, node, _OWN_BATCHES), None) for _ in args.positional)
    return loaders[0] if len(loaders) == 1 else TupleValue(ranks.SAME, loaders)


def _set_up(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fabric.setup(model, optimizer)`: what wraps the model, if anything does, is left to the strategy.

    Of a model in DDP, `model.module` is the one inside the wrapper.
    """
    if args.star is not None or not args.positional:
        return UNKNOWN
    given, *others = args.positional
    known = given if isinstance(given, ModelValue) else ModelValue(ranks.SAME)
    model: Value = known.replace(wrapping=Wrapping.UNKNOWN)
    if frame.module.mentions(WRAPS_IN_DDP) and not frame.module.mentions(WRAPS_OTHERWISE):
        wrapped_models.note_wrapped(frame, args.up_to(1), node, by_ddp=True)
        model = wrapped_models.replicated(model)
    return TupleValue(ranks.SAME, (model, *others)) if others else model


def _starred_values(frame: Frame, args: Arguments, node: cst.CSTNode) -> Sequence[Value] | None:
    """The values that a starred last argument adds; None if their number is not known.

    In `model, *loaders = prepare(model, *loaders)` the targets of the unpacking give the number.
    """
    if args.star is None:
        return ()
    arguments = node.args if isinstance(node, cst.Call) else ()
    if [each.star for each in arguments] != [""] * len(args.positional) + ["*"]:
        return None
    items = containers.positions_of(frame, frame.value_of(arguments[-1].value))
    if items is not None:
        return items
    assigned = (each for each in of_class(frame.statement, cst.Assign) if each.value is node)
    targets = [target.target for each in assigned for target in each.targets]
    if len(targets) != 1 or not isinstance(targets[0], (cst.Tuple, cst.List)):
        return None
    return [args.star] * (len(targets[0].elements) - len(args.positional))


def prepared(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """The result of `accelerator.prepare` for one of its arguments."""
    value = as_wrappable(value)
    if isinstance(value, ProjectModel) and not has_forward(value.cls):
        is_trained = not wrapped_models.may_stay_unwrapped(frame, value, node)
        return PreparedModel(value.cls, provenance=Prepared(frame.module, node, _PREPARED), grad=is_trained)
    if isinstance(value, ModelValue):
        is_other = wrapped_models.may_stay_unwrapped(frame, value, node) or _wraps_in_fsdp(frame, node)
        wrapping = None if value.wrapping is None else Wrapping.UNKNOWN if is_other else Wrapping.WRAPPED
        provenance = frame.step(node, "`prepare` wraps it here")
        return value.with_facts_of(
            Value(ranks.SAME, wrapping=wrapping, provenance=provenance, grad=value.grad, device=value.device)
        )
    if isinstance(value, LoaderValue):
        batch = explain(frame, PREPARED_BATCH, node, _OWN_BATCHES)
        if value.batch is not None:
            batch = (_full(batch) if isinstance(value.batch.provenance, FullBatches) else batch).replace(
                shape=value.batch.shape
            )
        return LOADER.with_parts(batch, None)
    if trained_apart.holds_models(frame, value):
        return value.replace(wrapping=Wrapping.BARE)
    if value.kind in (Kind.TUPLE, Kind.CONTAINER, Kind.NONE) or isinstance(value, LoadedFiles):
        return value
    if is_layer(class_name_of(value)):
        provenance = frame.step(node, "`prepare` wraps it here")
        return ModelValue(ranks.SAME, wrapping=Wrapping.WRAPPED, provenance=provenance)
    if isinstance(value, InstanceValue) and not isinstance(value, PreparedObject):
        return value
    if isinstance(value, OneOfProjectObjects) and all(prepared(frame, each, node) is each for each in value.options):
        return value
    stays_unwrapped = value.device == MAYBE_FROZEN and wrapped_models.may_stay_unwrapped(frame, value, node)
    step = Prepared(frame.module, node, _PREPARED, full=isinstance(value.provenance, FullBatches))
    return PreparedObject(ranks.SAME, provenance=step, grad=value.grad and not stays_unwrapped)


def _wraps_in_fsdp(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the `prepare` called here is that of an Accelerator that wraps in FSDP."""
    function = node.func if isinstance(node, cst.Call) else None
    owner = function.value if isinstance(function, cst.Attribute) else None
    return isinstance(frame.value_of(owner), ShardingAccelerator)


def _unwrapped(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    model = next(iter(args.all()), UNKNOWN)
    if isinstance(model, PreparedObject):
        wrapped = wrapped_models.narrowed_at(frame, model, node)
        name = args.expression(0)
        if isinstance(name, cst.Name) and frame.memory.names.get(name.value) is model:
            if _is_no_model(frame, name.value):
                return model
            frame.memory.names[name.value] = wrapped  # code rarely unwraps anything else
        return wrapped_models.inside(frame, wrapped, node)
    return wrapped_models.unwrapped(frame, model, node) if model.kind is Kind.MODEL else BARE_MODEL


def _is_no_model(frame: Frame, name: str) -> bool:
    """Whether a function reads from this name an attribute that optimizers and loaders have and wrapped models lack."""
    return any(
        isinstance(read.value, cst.Name) and read.value.value == name and read.attr.value in _NOT_OF_MODELS
        for read in of_class(frame.root, cst.Attribute)
    )


def _for_generation(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    for_generation(frame, args, node)
    return _unwrapped(frame, args, node)


def for_generation(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """Report a wrapped model passed to a context manager for generation; without gathering, it keeps all hooks."""
    gathers = args.keywords.get("gather_deepspeed3_params", UNKNOWN)
    if gathers.const is False or _runs_nothing(frame, node):
        return
    model, argument = args.get(0, "model"), args.node(0, "model")
    if model is not None and model.kind is Kind.MODEL and argument is not None:
        frame.emit(UnwrappedForGeneration, node, model=model, argument=argument, cls=frame.cls)


def _runs_nothing(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the block of a `with` statement only reads weights of the model that this item binds."""
    block = frame.statement
    if not isinstance(block, cst.With):
        return False
    bound = next((item.asname for item in block.items if item.item is node), None)
    if bound is None or not isinstance(bound.name, cst.Name):
        return False
    return uses_only_weights(block.body, bound.name.value, partial(function_of, frame))


def _for_training(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`self._wrap_model(model, training=False)` returns the model itself: an evaluation needs no DDP."""
    training = args.get(1, "training")
    return _first(frame, args, node) if training is not None and training.const is False else WRAPPED_MODEL


def _shard(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    piece = explain(frame, BATCH, node, "each rank gets its own part")
    padded = args.keywords.get(PADS_SHARES)
    is_even = _is_divided_evenly(frame) or (padded is not None and padded.const is not False)
    return IterableValue(ranks.SAME, piece, ranks.SAME) if is_even else piece


def _is_divided_evenly(frame: Frame) -> bool:
    """Whether a function computes the remainder of a division by the number of ranks, in order to cut it off."""
    remainders = (each for each in of_class(frame.root, cst.BinaryOperation) if isinstance(each.operator, cst.Modulo))
    return any(frame.value_of(each.right).const is WORLD_SIZE for each in remainders)


def _on_some_ranks(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = _first(frame, args, node)
    if not isinstance(value, FunctionValue):
        return UNKNOWN
    return value.with_parts(frame.engine.on_some_ranks(value.function))


def _moved(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = _first(frame, args, node)
    return value.replace(device="") if value.device else value


_TRANSFERS = {
    Transfer.ADAPTED: _adapted,
    Transfer.COPIED: _copied,
    Transfer.FIELDS: _fields,
    Transfer.FILLED: filled_classes.filled,
    Transfer.FILLED_AND_REST: filled_classes.filled_and_rest,
    Transfer.FIRST: _first,
    Transfer.FOR_GENERATION: _for_generation,
    Transfer.FOR_TRAINING: _for_training,
    Transfer.INITIALIZED: _initialized,
    Transfer.METRIC: metrics.new_metric,
    Transfer.MOVED: _moved,
    Transfer.PREPARED: _prepared,
    Transfer.PURE: _pure,
    Transfer.ON_SOME_RANKS: _on_some_ranks,
    Transfer.SECOND: _second,
    Transfer.SLICED: _sliced,
    Transfer.SET_UP: _set_up,
    Transfer.SHARED_OUT: _shared_out,
    Transfer.SHARD: _shard,
    Transfer.UNWRAPPED: _unwrapped,
}


def constructed(frame: Frame, row: Class, args: Arguments, node: cst.CSTNode) -> Value:
    created = row.makes
    if isinstance(created, str):
        if not created:
            if row.fills is not None:
                return filled_classes.filler(frame, row, args)
            if row.name != ACCELERATOR:
                is_alone = isinstance(node, cst.Call) and row.name in ALONE and has_one_device(node)
                return LibraryInstance(ALONE[row.name] if is_alone else row.name).replace(const=PRESENT)
            if own_worlds.is_made_for_some(frame):
                return UNKNOWN
            is_sharded = library_name_of(args.keywords.get("fsdp_plugin")) == FSDP_PLUGIN
            return (ShardingAccelerator if is_sharded else LibraryInstance)(row.name).replace(const=CREATED)
        return transferred(frame, created, args, node, row.name)
    if isinstance(created, ModelValue) and created.wrapping is Wrapping.WRAPPED:
        if is_refused(frame, row, args, node):
            return UNKNOWN  # it raises
        inner = as_wrappable(args.positional[0]) if args.positional else UNKNOWN
        if row.name == "torch.nn.DataParallel":  # one process, so no gradients to synchronise
            return created.with_parts(ModelRole.DATA_PARALLEL).replace(
                provenance=WrappedHere(frame.module, node, "it is wrapped here")
            )
        by_ddp = is_replicated(created)
        wrapped_models.note_wrapped(frame, args, node, by_ddp)
        created = created.replace(provenance=wrapped_models.wrapped_at(frame, inner, node, by_ddp))
        if isinstance(inner, ModelValue):
            inner = wrapped_models.trained_inside(frame, inner, node)
            created = inner.with_facts_of(created.replace(grad=inner.grad, device=inner.device))
        return made_by_ddp(frame, wrapped_models.replicated(created), args) if by_ddp else created
    if created.kind is Kind.LOADER:
        loader = _loader(frame, args, node)
        asked_samplers.ask(frame, args, node)
        for refine in frame.domains.created:
            loader = refine(frame, (row.name,), args, node, loader)
        return loader
    return own_shares.told_of_ranks(args, created) if row.name == DISTRIBUTED_SAMPLER else created


def _loader(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A DataLoader gives each rank its own batches only with a sampler that shards; `prepare` adds one."""
    key = "sampler" if "sampler" in args.keywords else "batch_sampler"
    sampler = args.expression(key)
    is_of_all = not _is_for_one_kind(frame, sampler) and not deals_to_one(frame.root, sampler, frame.value_of)
    is_sharded = is_of_all and shards(frame, args.keywords.get(key))
    taken = None if is_sharded else own_shares.batch_of(frame, args)
    is_sharded = is_sharded or taken is not None
    batch = taken or (own_shares.batch_of_sampler(frame, args, key) if is_sharded else BatchValue(ranks.UNKNOWN))
    batch = batch if batch.provenance is not None else explain(frame, batch, node, _OWN_BATCHES)
    dropped = args.keywords.get(DROPS_INCOMPLETE)
    if dropped is not None and dropped.const is True:
        return LOADER.with_parts(_full(batch), None)
    return LOADER.with_parts(batch if is_sharded else batch.replace(provenance=None), None)


def shards(frame: Frame, sampler: Value | None) -> bool:
    """Whether a sampler gives each rank its own rows: torch's own, or one of a class that is or does the same."""
    if isinstance(sampler, ProjectInstance):
        cls = sampler.cls
        is_sharing = any(map(is_sharing_sampler, cls.library_bases()))
        return is_sharing or deals_itself(frame, cls) or goes_through_own(frame, cls) or draws_its_own(frame, cls)
    is_torchs = library_name_of(sampler) == DISTRIBUTED_SAMPLER and not isinstance(sampler, SamplerForOne)
    return is_torchs or own_shares.is_picked_by_rank(frame, sampler)


def _is_for_one_kind(frame: Frame, sampler: cst.BaseExpression | None) -> bool:
    """Whether a sampler is used for one kind of data only, and it is unknown whether this is that kind."""
    if not isinstance(sampler, cst.Name):
        return False
    tests = (frame.value_of(each) for each in kind_tests(frame.root, sampler.value))
    return any(each.const is MISSING for each in tests)


_OWN_BATCHES = "each rank gets its own batches from this loader"


def _full(batch: Value) -> Value:
    """Batches of a loader that drops an incomplete last batch."""
    step, rank = batch.provenance, ranks.of_elements(batch.rank)
    if step is None:
        return batch.replace(rank=rank)
    return batch.replace(rank=rank, provenance=FullBatches(step.module, step.node, step.text, step.before))

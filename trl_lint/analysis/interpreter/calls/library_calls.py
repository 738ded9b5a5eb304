"""Calls of library code: the effects that the knowledge tables state."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.interpreter.calls import (
    container_methods,
    registered_hooks,
    row_transfers,
    special_calls,
    started_processes,
    thread_pools,
)
from trl_lint.analysis.interpreter.calls.callbacks import enter_callbacks_of
from trl_lint.analysis.interpreter.calls.collectives import collective
from trl_lint.analysis.interpreter.calls.sinks import show
from trl_lint.analysis.interpreter.objects import (
    given_to_first,
    named_ranks,
    passed_models,
    refused_none,
    registered_buffers,
)
from trl_lint.analysis.interpreter.operations import pure_calls
from trl_lint.analysis.interpreter.operations.pure_calls import spread
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.definitions.own_loaders import LOADER_ITSELF, is_loader
from trl_lint.analysis.program.idioms.single_results import is_used_as_one
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import below
from trl_lint.analysis.state import own_dicts, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.refining import FunctionCall
from trl_lint.analysis.transfer.models import gradients
from trl_lint.analysis.transfer.processes import first_rank, job_flags
from trl_lint.analysis.transfer.tensors import tensor_functions
from trl_lint.domain import ranks
from trl_lint.domain.equality import same_facts
from trl_lint.domain.kinds import (
    BatchRole,
    BatchValue,
    ContainerValue,
    FirstRankContext,
    LibraryName,
    TupleValue,
    role_of,
)
from trl_lint.domain.provenance import Step
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge import heuristics, library, torch_ops
from trl_lint.knowledge.effects import OPENERS
from trl_lint.knowledge.evaluation import OPEN_ARGUMENTS, synchronised_metric
from trl_lint.knowledge.lhotse import sharing_sampler
from trl_lint.knowledge.process_starts import LAUNCHERS, START_GROUP
from trl_lint.knowledge.python import DICTS, PARSE_TEXT
from trl_lint.knowledge.schema import Class, Collective, Function, Hook, OpaqueCall, Row, Sink
from trl_lint.knowledge.torch_distributed import DATA_LOADER
from trl_lint.knowledge.transformers import CALLS_HOOKS


def call_function(frame: Frame, dotted: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of a library's function or class by its dotted name."""
    name = library.canonical(dotted)
    refused_none.note_path(frame, name, args, node)
    for observe in frame.observers.library_call:
        observe(frame, name, args, node)
    passed_models.note_losses(frame, name, args, node)
    for refine in frame.domains.library_call:
        known = refine(frame, name, args, node)
        if known is not None:
            return known
    if name in START_GROUP:
        job_flags.note_start(frame, node)
    special = special_calls.SPECIAL.get(name)
    if special is not None:
        return special(frame, args, node)
    row = library.function(name, frame.engine.versions)
    if row is not None and not isinstance(row, (OpaqueCall, Hook)):
        return apply(frame, (row,), args, node, None)
    for observe_row in frame.observers.row:
        observe_row(frame, name, row, args, node, None)
    created: Value | str | None = library.maker(name)
    keywords = args.keywords if args.double is None else {*args.keywords, OPEN_ARGUMENTS}
    created = created or synchronised_metric(name, keywords) or sharing_sampler(name, args.keywords)
    if created is None:
        created = library.constructor(name, frame.engine.versions)
    if isinstance(created, Value):
        return created
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        return pure_calls.module_of(name, args)
    return _computed(frame, name, args, node)


def _computed(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of a function of torch, or one like it, for its arguments."""
    flat = spread(frame, args)
    tensor_row = torch_ops.of_function(name)
    found = tensor_functions.function(tensor_row, name, flat.positional, flat.keywords)
    if found is None:
        last = name.rpartition(".")[2]
        if heuristics.is_rank_name(last) and not args.all():
            return named_ranks.named_rank(frame, last)
        return frame.engine.unresolved(frame, args, node)
    if name in PARSE_TEXT and found.rank == ranks.SETTING:
        return settings.SETTING
    value = pure_calls.functional_loss(name, found, args)
    call = FunctionCall(tensor_row, name, args, flat, node)
    for refine in frame.domains.function:
        value = refine(frame, call, value)
    return _explained(frame, value, node)


def _explained(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    if value.rank.differs and value.provenance is None:
        return value.replace(provenance=_of_part(frame, value, node))
    return value


def _of_part(frame: Frame, value: Value, node: cst.CSTNode) -> Step:
    """Why the result of a call differs, by what an argument is made of: `[0.5 for _ in range(len(rows))]`."""
    parts = (frame.value_of(each) for each in below(node) if each is not node)
    alike = (each.provenance for each in parts if each.rank.differs and each.rank.origins & value.rank.origins)
    found = next(filter(None, alike), None)
    if found is None:
        return frame.step(node, "`{}` differs between ranks")
    return Step(found.module, found.node, found.text, found.before)


def call_method(frame: Frame, receiver: Value, cls: str, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of an instance of a library's class."""
    launcher = LAUNCHERS.get(f"{cls}.{name}")
    if launcher is not None:
        started_processes.launch(frame, launcher, args, node, receiver)
    found = frame.engine.library_method(cls, name)
    if found is not None:
        return apply(frame, found[1], args, node, receiver)
    dotted = f"{cls}.{name}"
    if library.is_alias(dotted) or dotted in OPENERS:  # a method that does what a function does
        return call_function(frame, dotted, args, node)
    value = frame.engine.library_attribute(cls, name)
    if value is not None and value.value.kind is not Kind.UNKNOWN:
        return frame.engine.call_value(frame, value.value, args, node)
    return frame.engine.unresolved(frame, args, node)


def call_inherited(
    frame: Frame, receiver: Value, cls: ClassInfo, name: str, args: Arguments, node: cst.CSTNode
) -> Value:
    """A method that a project class inherits from a library class."""
    if name == "__init__":
        for observe in frame.observers.instantiate:
            observe(frame, "", args, node)
        note_loader(frame, receiver, args, node)
        note_entries(frame, receiver, cls, args, node)
    if name == registered_buffers.REGISTERS:
        registered_buffers.note(frame, cls, args)
    entries = own_dicts.with_entries(frame, receiver) if name in container_methods.METHODS else receiver
    if isinstance(entries, ContainerValue):
        return container_methods.call(frame, entries, name, args, node)
    for base in cls.library_bases():
        found = frame.engine.library_method(base, name)
        if found is not None:
            value = apply(frame, found[1], args, node, receiver)
            if name in CALLS_HOOKS and isinstance(receiver, ProjectInstance):
                frame.note_hooks_called(receiver.cls)
            return value
    unique = library.unique_method(name)
    if unique is not None and frame.engine.library_method(unique, name) is not None:
        return call_method(frame, receiver, unique, name, args, node)
    return frame.engine.unresolved(frame, args, node)


def note_entries(frame: Frame, receiver: Value, cls: ClassInfo, args: Arguments, node: cst.CSTNode) -> None:
    """An object that is a dict itself gets its entries: they are known if no other arguments are."""
    base = next((each for each in cls.library_bases() if each in DICTS), None)
    if base is not None:
        is_known = args.star is None and args.double is None
        entries = frame.engine.call_value(frame, LibraryName(base), args, node) if is_known else UNKNOWN
        own_dicts.note(frame, receiver, entries)


def note_loader(frame: Frame, receiver: Value, args: Arguments, node: cst.CSTNode) -> Value | None:
    """What an object that is a DataLoader of torch itself is made of; None for other objects."""
    row = library.function(DATA_LOADER, frame.engine.versions)
    if not isinstance(receiver, ProjectInstance) or not is_loader(receiver.cls) or not isinstance(row, Class):
        return None
    loader = row_transfers.constructed(frame, row, args, node)
    frame.write_attribute(receiver.cls, LOADER_ITSELF, loader)
    return loader


def call_through_class(
    frame: Frame, receiver: LibraryName, name: str, args: Arguments, node: cst.CSTNode
) -> Value | None:
    """`Trainer.log(self, logs)`: a library method, called on a project object; None if it is no such call."""
    this = args.positional[0] if args.positional else None
    cls = library.canonical(receiver.name)
    if not isinstance(this, ProjectInstance) or not frame.engine.is_subclass(this.cls, cls):
        return None
    found = frame.engine.library_method(cls, name)
    if found is None or name == "__init__":
        return None
    value = apply(frame, found[1], args.without_first(), node, this)
    if name in CALLS_HOOKS:
        frame.note_hooks_called(this.cls)
    return value


def apply(frame: Frame, rows: Sequence[Row], args: Arguments, node: cst.CSTNode, receiver: Value | None) -> Value:
    """Apply the rows of a function to a call. Returns its result."""
    row = next((each for each in rows if isinstance(each, Sink)), rows[-1])
    for observe_row in frame.observers.row:
        observe_row(frame, row.name, row, args, node, receiver)
    threaded = thread_pools.called(frame, row.name, args, node)
    if threaded is not None:
        return threaded
    if isinstance(row, Sink):
        return show(frame, row, args, node)
    if isinstance(row, Collective):
        return collective(frame, row, args, node)
    if isinstance(row, Class):
        if library.is_subclass(row.name, "transformers.Trainer", frame.engine.versions):
            frame.trace.launch(Step(frame.module, node, "each process creates this trainer"), node)
        for observe in frame.observers.instantiate:
            observe(frame, row.name, args, node)
        enter_callbacks_of(frame, row, args, node)
        return thread_pools.created(row.name, args) or row_transfers.constructed(frame, row, args, node)
    if isinstance(row, (Function, Hook)):
        spans = [each for each in rows if isinstance(each, (Function, Hook))]
        value = given_to_first.result(frame, row.name, args, node, _returned(frame, spans, args, node))
        if isinstance(row, Function):
            if row.registers:
                registered_hooks.register(frame, row, args)
            registered_hooks.run(frame, row.name, node)
            for refine in frame.domains.library_function:
                value = refine(frame, row, args, node, receiver, value)
        return value
    return frame.engine.unresolved(frame, args, node) if isinstance(row, OpaqueCall) else UNKNOWN


def _returned(frame: Frame, rows: Sequence[Function | Hook], args: Arguments, node: cst.CSTNode) -> Value:
    """The result of a call by its rows: one per range of releases that may be in use."""
    row = rows[-1]
    returns: Value | str = row.returns
    for other in rows[:-1]:
        returns = _common(returns, other.returns)
    if row.switch is not None:
        switch = args.get(*row.switch)
        if switch is not None and switch.const is not False:
            may_be_off = switch.const is not True and isinstance(row, Hook) and is_used_as_one(frame.root, node)
            returns = row.switched if switch.const is True else returns if may_be_off else UNKNOWN
    if isinstance(row, Function) and row.first_rank:
        first_rank.note_context(frame, node, row.first_rank)
        return FirstRankContext(row.first_rank)
    if isinstance(row, Function) and row.frozen:
        gradients.note_no_train(frame, node)
    if row.yields is not None:
        frame.context_values[id(node)] = row_transfers.transferred(frame, row.yields, args, node, row.name)
    return row_transfers.transferred(frame, returns, args, node, row.name)


def _common(a: Value | str, b: Value | str) -> Value | str:
    """What two ranges of releases agree on; unknown where they differ, as it is not known which one is in use."""
    if isinstance(a, str) or isinstance(b, str):
        return a if a == b else UNKNOWN
    return _common_value(a, b)


def _common_value(a: Value, b: Value) -> Value:
    if same_facts(a, b):
        return a
    if a.items and len(a.items) == len(b.items):
        return TupleValue(ranks.SAME, [_common_value(x, y) for x, y in zip(a.items, b.items, strict=True)])
    if role_of(a) is role_of(b) is BatchRole.METRICS:
        return BatchValue(ranks.UNKNOWN, BatchRole.METRICS)
    return UNKNOWN

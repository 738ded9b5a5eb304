"""Library functions whose meaning no row can express, by canonical name."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from trl_lint.analysis.interpreter.calls import (
    built_trainers,
    builtin_calls,
    row_transfers,
    sharded_models,
    signal_handlers,
    started_processes,
)
from trl_lint.analysis.interpreter.objects import (
    assignment,
    attributes,
    chosen_names,
    environment_variables,
    given_fields,
    made_tuples,
    settings_objects,
)
from trl_lint.analysis.interpreter.operations import dict_constructors, paths, pure_calls
from trl_lint.analysis.program.definitions.changed_state import is_declared_global, is_set_outside_any_class
from trl_lint.analysis.program.definitions.objects import ClassValue, ProjectInstance
from trl_lint.analysis.program.syntax import assignments
from trl_lint.analysis.state import containers, records, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import gradients
from trl_lint.analysis.transfer.processes import first_rank, new_groups
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_FALSE
from trl_lint.domain.devices import GLOBAL_RANK
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import NONE, AveragedModel, PartialCall, TupleValue, flag
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import library, model_libraries
from trl_lint.knowledge.effects import LOCKS, MAKE_PATHS
from trl_lint.knowledge.schema import GLOBAL_RANK_INDEX, RANK_INDEX
from trl_lint.knowledge.torch import DERIVE, HAS_MORE


def _new_group(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    name = "torch.distributed.new_group"
    for observe in frame.observers.row:
        observe(frame, name, library.function(name, frame.engine.versions), args, node, None)
    return new_groups.new_group(frame, args)


def _rank_in_group(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`dist.get_rank(group)`: the rank in a group is not the rank in the whole job."""
    group, given = args.get(0, "group"), args.expression(0) or args.expression("group")
    of_all = group is None or (group.kind is Kind.NONE and not _is_set_elsewhere(frame, given))
    number = GLOBAL_RANK_INDEX if of_all else RANK_INDEX
    return row_transfers.transferred(frame, number, args, node, "torch.distributed.get_rank")


def _is_set_elsewhere(frame: Frame, name: cst.BaseExpression | None) -> bool:
    """Whether a function, or another file, may give a variable another value than the module does."""
    if not isinstance(name, cst.Name):
        return True
    is_global = is_declared_global(frame.module, name.value)
    return is_global or is_set_outside_any_class(frame.engine.project, name.value)


def _import_module(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A module named by a setting: one of a few of the project, or unknown, but the same on all ranks."""
    module = chosen_names.imported_module(frame, args.positional[0]) if args.positional else None
    if module is not None:
        return module
    frame.engine.unresolved(frame, args, node)
    return settings.SETTING if args.rank().is_uniform else UNKNOWN


def _getenv(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    return environment_variables.environment(frame, args.positional[0]) if args.positional else SAME


def _replaced(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`dataclasses.replace(settings, rank=rank)`: another object of the class, with the given fields overwritten."""
    instance = args.positional[0] if args.positional else UNKNOWN
    if not isinstance(instance, ProjectInstance):
        return pure_calls.pure_result(pure_calls.spread(frame, args))
    if records.generates_init(instance.cls) and args.double is None:
        fields = {each: attributes.read(frame, instance, each, node) for each in records.fields_of(instance.cls)}
        made = Arguments(keywords=fields | args.keywords)
        return frame.engine.call_value(frame, ClassValue(instance.cls.origin), made, node)
    for name, value in args.keywords.items():
        before = attributes.read(frame, instance, name, node)
        frame.write_attribute(instance.cls, name, join(before, value))
    return instance


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


# The most arguments kept of a partial call; repeated `partial`s beyond that are given up.
_MAX_BOUND = 20


def _partial(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    if not args.positional or args.star is not None or args.double is not None:
        return UNKNOWN
    callee, *positional = args.positional
    if not positional and not args.keywords:
        return callee
    named = args.keywords
    if isinstance(callee, PartialCall):
        positional, named = [*callee.positional, *positional], {**dict(callee.keywords), **named}
        callee = callee.callee
    if len(positional) + len(named) > _MAX_BOUND:
        return UNKNOWN
    return PartialCall(callee, positional, tuple(named.items()))


def _derived(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`torch.func.jvp(function, (x,), (v,))`: what the function gives for `x`, and its derivative there."""
    computed = pure_calls.pure_result(pure_calls.spread(frame, args))
    function, given = args.get(0, "func"), args.get(1, "primals") or args.get(1, "inputs")
    if function is None or given is None or args.double is not None or HAS_MORE in args.keywords:
        return computed
    passed = given.items if isinstance(given, TupleValue) else [given]
    result = frame.engine.call_value(frame, function, Arguments(passed), node)
    return TupleValue(ranks.SAME, (computed if result.rank == ranks.UNKNOWN else result, computed))


def _started(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`init_process_group(rank=rank)`: the argument is the rank of the process."""
    expression = args.expression("rank")
    if not isinstance(expression, (cst.Attribute, cst.Name)):
        return NONE
    # Before the start, its name is taken for the number on one node; see `given_numbers`.
    bound = frame.memory.names.get(expression.value) if isinstance(expression, cst.Name) else None
    if bound is not None and bound.rank.state is State.UNKNOWN:
        step = frame.step(node, "this is the process's number")
        assignment.rebind(frame, expression, GLOBAL_RANK_INDEX.replace(provenance=step))
    elif _counts_over_nodes(frame.root, expression):
        number = args.keywords["rank"].replace(device=GLOBAL_RANK)
        if isinstance(expression, cst.Name):
            assignment.rebind(frame, expression, number)
        elif isinstance(expression.value, cst.Name):
            given_fields.put(frame, expression.value, {expression.attr.value: number})
    return NONE


def _counts_over_nodes(root: cst.CSTNode, number: cst.BaseExpression) -> bool:
    """Whether a number counts the processes of all nodes: `number = node * processes_of_each + index`."""
    given = (value for target, value in assignments(root) if target.deep_equals(number))
    sums = (each for each in given if isinstance(each, cst.BinaryOperation) and isinstance(each.operator, cst.Add))
    return any(
        isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Multiply)
        for each in sums
        for part in (each.left, each.right)
    )


def _is_peft_model(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A test of the class, which for a wrapped model is that of the wrapper."""
    model = args.positional[0] if args.positional else UNKNOWN
    wrapped = wrapping_of(model) is Wrapping.WRAPPED
    return flag(WORLD_FALSE if wrapped else MISSING)


def _average(keyword: str) -> Callable[[Frame, Arguments, cst.CSTNode], Value]:
    """`EMA(model, include_online_model=False)`: an average of a model, of which nothing is trained.

    keyword: see `model_libraries.AVERAGES`. Unless it is known to be true, the averaged model may not be part of it.
    """

    def called(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
        average = frame.engine.unresolved(frame, args, node)
        given = args.keywords.get(keyword)
        is_open = isinstance(node, cst.Call) and any(each.star for each in node.args)
        holds_model = given.const is True if given is not None else not is_open
        return average.as_a(AveragedModel).replace(grad=bool(keyword) and holds_model)

    return called


SPECIAL = {
    **{name: _average(keyword) for name, keyword in model_libraries.AVERAGES.items()},
    "importlib.import_module": _import_module,
    "accelerate.utils.is_peft_model": _is_peft_model,
    "peft.is_peft_model": _is_peft_model,
    "transformers.trainer.is_peft_model": _is_peft_model,
    "trl.models.utils.is_peft_model": _is_peft_model,
    "trl.trainer.utils.is_peft_model": _is_peft_model,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "dataclasses.asdict": dict_constructors.of_record,
    "dataclasses.fields": dict_constructors.listed_fields,
    "dataclasses.replace": _replaced,
    "fsspec.filesystem": paths.file_system,
    "fsspec.url_to_fs": paths.file_system_and_path,
    "functools.partial": _partial,
    "os.environ.get": _getenv,
    "torch.distributed.init_process_group": _started,
    "torch.distributed.get_rank": _rank_in_group,
    "torch.distributed.new_group": _new_group,
    "os.getenv": _getenv,
    **dict.fromkeys(("os.path.exists", "os.path.isdir", "os.path.isfile"), paths.on_disk),
    **dict.fromkeys(("pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath"), paths.new_path),
    **dict.fromkeys(DERIVE, _derived),
    **dict.fromkeys(LOCKS, first_rank.lock),
    **dict.fromkeys(MAKE_PATHS, paths.text_of),
    "os.path.join": paths.joined_text_of,
    **dict.fromkeys(("pathlib.Path.cwd", "pathlib.Path.home"), paths.new_path),
    **built_trainers.HANDLERS,
    **made_tuples.HANDLERS,
    **signal_handlers.HANDLERS,
    **settings_objects.HANDLERS,
    **sharded_models.HANDLERS,
    **started_processes.HANDLERS,
    "torch.is_tensor": builtin_calls.is_tensor,
    "torch.enable_grad": gradients.enable_grad,
    "torch.inference_mode": gradients.no_grad,
    "torch.no_grad": gradients.no_grad,
    "torch.set_grad_enabled": gradients.set_grad_enabled,
}

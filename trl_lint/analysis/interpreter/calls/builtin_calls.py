"""Python's builtin functions, as far as they matter for ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trl_lint.analysis.interpreter.calls import attribute_calls, rows_of_batches
from trl_lint.analysis.interpreter.calls.first_elements import first_of
from trl_lint.analysis.interpreter.conditions import lists_of_models, none_tests, own_tests, wrapper_questions
from trl_lint.analysis.interpreter.conditions.compared_with_own import has_one_answer
from trl_lint.analysis.interpreter.conditions.parameter_tests import goes_over_no_parameters
from trl_lint.analysis.interpreter.objects import (
    attribute_tests,
    chosen_names,
    own_wrappers,
    present_on_some,
    sequences,
    settings_objects,
)
from trl_lint.analysis.interpreter.operations import dict_constructors, operators, ranges
from trl_lint.analysis.interpreter.operations.pure_calls import text_of
from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_names
from trl_lint.analysis.state import containers, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.written_lengths import given_length
from trl_lint.analysis.transfer.models.wrapped_models import narrowed_to_model
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.analysis.transfer.tensors import tensor_functions, tensors
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_FALSE, WORLD_TRUE, GivenNumber, World
from trl_lint.domain.derived import derived, presence_of
from trl_lint.domain.heap import Cell
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import (
    BLANKS,
    NONE,
    ContainerValue,
    IterableValue,
    LoaderValue,
    NumberValue,
    PreparedObject,
    SizesValue,
    TupleValue,
    flag,
)
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.numbers import largest
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import NO_WRITES, SAME, UNKNOWN, WRAPPED_ON_SOME_WAY, Kind, Value, Wrapping
from trl_lint.knowledge import library, models
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.schema import IDENTITY, WORLD

if TYPE_CHECKING:
    import libcst as cst


def call(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """The value of `name(...)`."""
    if name in _OBSERVED:
        for observe in frame.observers.library_call:
            observe(frame, f"builtins.{name}", args, node)
    if name in _FAIL_FOR_NONE and args.positional:
        args.positional[0] = present_on_some.used(frame, args.expression(0) or node, args.positional[0])
    known: Value | None = presence_of(args.positional[0]) if name in _ASKS and args.positional else None
    known = known or own_tests.of_builtin(frame, name, args, node)
    if known is not None:
        return known
    handler = BUILTINS.get(name)
    if handler is not None and args.positional and args.star is None:
        return handler(frame, args, node)
    if name == "zip" and args.star is not None and not args.positional:
        return _unzipped(frame, args.star, node)
    if handler is not None and args.star is not None:
        return derived(_spread_rank(frame, args), Kind.UNKNOWN, *args.all())
    if name in _TEXTS:
        shown = [text_of(value) for value in settings.counts_by_name(args)]
        return operators.made_of(frame, shown, tensor_functions.builtin(name, shown))
    if name in _BYTES:
        return _bytes(name, args)
    if name in table.PURE_BUILTINS and name not in ("dict", "list", "set"):
        return tensor_functions.builtin(name, args.all())
    if name in _SILENT:
        return _RETURNED.get(name, SAME)
    if name == "open":
        return settings_objects.opened(args)
    if name == "globals":
        return chosen_names.names_here(frame)
    if name == "exec":
        _forget_constants(frame, args)
    if name in ("dict", "list", "set"):
        made = Cell("dict", dict_constructors.entries_of(frame, args)) if name == "dict" else Cell(name)
        return frame.allocate(node, made)
    return frame.engine.unresolved(frame, args, node)


def _bytes(name: str, args: Arguments) -> Value:
    """Bytes are no tensor. The content of a `bytearray` may change, for example in `file.readinto(buffer)`."""
    is_constant = name == "bytes"
    rank = ranks.nonlinear(ranks.combine_all(each.rank for each in args.all())) if is_constant else ranks.UNKNOWN
    return derived(rank, Kind.STRING, *args.all(), device="")


def _forget_constants(frame: Frame, args: Arguments) -> None:
    """`exec(open("configurator.py").read())`: the executed code may rebind the names of settings."""
    text = args.positional[0] if args.positional else UNKNOWN
    if isinstance(text.const, str) or len(args.all()) != 1:
        return
    names = frame.memory.names
    names.update((name, value.replace(const=MISSING)) for name, value in names.items() if type(value.const) in _SET)


_QUANTIFIERS = frozenset({"all", "any"})
# Their result for an object shows whether it is None.
_ASKS = frozenset({"bool", "callable", "hasattr", "isinstance"})
# These raise a TypeError for None.
_FAIL_FOR_NONE = frozenset({
    "abs", "all", "any", "enumerate", "float", "int", "iter", "len", "list", "next", "open", "reversed", "round", "set",
    "sorted", "sum", "tuple",
})  # fmt: skip
_SET = frozenset({bool, float, int, str})
_BYTES = frozenset({"bytearray", "bytes"})
_TEXTS = frozenset({"format", "repr", "str"})
# Builtins that are reported to the observers.
_OBSERVED = frozenset({"open", "print"})
_SILENT = frozenset({"print", "isinstance", "issubclass", "callable", "type", "id", "hasattr", "setattr", "delattr"})
_RETURNED: dict[str, Value] = {"id": IDENTITY, "print": NONE}


def _len(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = none_tests.questioned(args.positional[0])
    sequences.used(frame, value, "__len__", args.expression(0))
    if isinstance(value, ContainerValue):
        frame.consume(value)
        rank = ranks.SAME
        cells = frame.memory.cells(value)
        if containers.has_one_per_rank(cells):
            return WORLD
        for cell in cells:
            rank = ranks.join(rank, cell.length)
        if containers.is_gathered_on_one_path(frame, cells) or (rank.state is State.SAME and _may_be_others(cells)):
            rank = ranks.UNKNOWN
        counted = _counted(frame, settings.length_by_name(frame, args.expression(0), rank), value, node)
        length = given_length(frame, value)
        return counted if length is None else counted.replace(const=GivenNumber(length))
    if isinstance(value, IterableValue):
        return _counted(frame, value.length, value, node)
    if isinstance(value, (TupleValue, LoaderValue, SizesValue)):
        return NumberValue(ranks.SAME, scalar=True, dtype="int")
    counted = _counted(frame, rows_of_batches.rows_in(value) or value.rank, value, node)
    for refine in frame.domains.size:
        counted = refine(frame, value, NumberValue(const=0), counted)
    return counted


def _may_be_others(cells: Sequence[Cell]) -> bool:
    """Whether a container is one of several with different lengths, of which some ranks may have another one."""
    return len(cells) > 1 and len({len(cell.entries) if cell.rest is None else -1 for cell in cells}) > 1


def _counted(frame: Frame, rank: Rank, value: Value, node: cst.CSTNode) -> Value:
    if rank.differs:
        rank = Rank(State.PARTIAL, rank.origins, "count")
    provenance = value.provenance or frame.step(node, "the number of elements differs between ranks")
    return NumberValue(
        rank, scalar=True, dtype="int", provenance=provenance if rank.differs else None, writes=value.writes
    )


def _sum(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = args.positional[0]
    if value.kind in (Kind.TENSOR, Kind.BATCH) or value.kind is Kind.UNKNOWN:
        return tensors.summed(value) if value.rank.differs else value.as_a(BLANKS.get(value.kind, Value))
    result = _reduced(frame, args, "sum")
    start = args.positional[1] if len(args.positional) > 1 else args.keywords.get("start")
    if result.rank.state is State.BOTTOM:  # the sum of no elements
        return start or NumberValue(ranks.SAME, scalar=True, dtype="int")
    if start is None:
        return result
    return tensors.arithmetic(ranks.combine_linear(result.rank, start.rank), result, start, False)


def _extreme(name: str) -> Callable[[Frame, Arguments, cst.CSTNode], Value]:
    def handler(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
        if len(args.positional) > 1:
            found = tensor_functions.one_of(args.positional)
            return found.replace(const=largest(args.positional)) if name == "max" else found
        result = _reduced(frame, args, name)
        default = args.keywords.get("default")
        return result if default is None else join(result, default)

    return handler


def _reduced(frame: Frame, args: Arguments, how: str) -> Value:
    """A reduction of an iterable in Python: a tensor if the elements are tensors, a number if they are numbers."""
    element, length = containers.iterate(frame, args.positional[0])
    rank = element.rank
    if how in _QUANTIFIERS and rank.state is State.SAME and element.const is MISSING:
        return flag()  # each element has the same answer, whatever their number: `all(isinstance(x, int) for x in xs)`
    if length.how == ranks.HELD:
        rank = ranks.nonlinear(length)
    elif length.differs and rank.state is State.SAME:
        rank = ranks.UNKNOWN if rank.is_reduced else Rank(State.PARTIAL, length.origins, how)
    elif rank.state is State.PARTIAL and rank.how != how and not _adds_up(rank, length, how):
        rank = Rank(State.LOCAL, rank.origins)
    elif rank.state is State.LOCAL and not _adds_up(rank, length, how):
        is_same_reduction = how in ("max", "min") or rank.how in ("", how)
        rank = Rank(State.LOCAL, rank.origins, how if is_same_reduction else "")
    elif rank.state is State.SHARD:
        rank = Rank(State.PARTIAL, rank.origins, how)
    elif length.state is State.UNKNOWN and rank.state is State.SAME:
        rank = ranks.UNKNOWN
    elif length.is_by_rank and rank.state is State.UNKNOWN and how == "sum":
        rank = ranks.RANK_LOCAL  # where the share of a rank begins: `sum(sizes[:rank])`
    if how in _QUANTIFIERS:
        return derived(ranks.nonlinear(rank), Kind.NUMBER, element, scalar=True, dtype="bool")
    dtype = "int" if element.dtype == "bool" and how == "sum" else element.dtype
    result = derived(rank, element.kind, element, scalar=element.scalar, dtype=dtype)
    # `sum(losses.values())` is none of the metrics that it adds up.
    are_several = len({each.name for each in result.writes}) > 1
    return result.replace(writes=NO_WRITES) if are_several else result


def _adds_up(rank: Rank, length: Rank, how: str) -> bool:
    """Whether a sum of partial means (of the same number on all ranks) is a partial mean."""
    return how == "sum" and rank.how in ranks.ADDITIVE and length.state is State.SAME


def _quantified(how: str) -> Callable[[Frame, Arguments, cst.CSTNode], Value]:
    def handler(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
        if how == "any" and goes_over_no_parameters(frame, args.expression(0)):
            return flag(False)
        if has_one_answer(frame, how, args.expression(0)):
            return flag(rank=ranks.REDUCED)
        return _reduced(frame, args, how)

    return handler


def _sequence(shape: str) -> Callable[[Frame, Arguments, cst.CSTNode], Value]:
    """`list(x)`, `sorted(x)`, `set(x)`: a new container with the same elements."""

    def handler(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
        value = args.positional[0]
        if isinstance(value, TupleValue) and shape == "list":
            return frame.allocate(node, Cell("list", dict(enumerate(value.items))))
        view = containers.as_view(frame, value, args.expression(0))
        if isinstance(view, IterableValue) and view.view is not None:
            return view  # `sorted(d)`, `list(d.items())`: still the entries of that dict
        element, length = containers.iterate(frame, view)
        return frame.allocate(node, Cell(shape, rest=element, length=length))

    return handler


def _tuple(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = args.positional[0]
    if value.kind is Kind.TUPLE:
        return value
    return _sequence("list")(frame, args, node)


def _enumerate(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    rows = sequences.used(frame, args.positional[0], "__iter__", args.expression(0))
    columns = containers.as_columns(frame, rows, args.expression(0))
    element, length = containers.iterate(frame, columns)
    index = NumberValue(ranks.SAME, scalar=True, dtype="int")
    return IterableValue(ranks.SAME, TupleValue(ranks.SAME, (index, element)), length)


def _zip(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    rows = lists_of_models.zipped(frame, args.positional)
    if rows is not None:
        return rows
    used = [sequences.used(frame, each, "__iter__", args.expression(i)) for i, each in enumerate(args.positional)]
    pairs = [containers.iterate(frame, value) for value in used]
    lengths = [pair[1] for pair in pairs]
    length = ranks.of_counts(ranks.combine_all(lengths), lengths)
    row = containers.tuple_of(frame, [pair[0] for pair in pairs], (node, "row"))
    return IterableValue(ranks.SAME, row, length)


def _unzipped(frame: Frame, row: Value, node: cst.CSTNode) -> Value:
    """`zip(*rows)`: the columns, one by one if the rows are known tuples."""
    if isinstance(row, TupleValue):
        columns = [frame.allocate((node, index), Cell("list", rest=item)) for index, item in enumerate(row.items)]
        return TupleValue(ranks.SAME, tuple(columns))
    element, length = containers.iterate(frame, row)
    column = frame.allocate(node, Cell("list", rest=element))
    return IterableValue(ranks.SAME, column, length)


def _spread_rank(frame: Frame, args: Arguments) -> Rank:
    """The rank of a call with a starred argument: containers count as their elements."""
    found = []
    for value in args.all():
        container = value.kind in (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE)
        found.append(containers.iterate(frame, value)[0].rank if container else value.rank)
    return ranks.nonlinear(ranks.combine_all(found))


def _map(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    elements, lengths = [], []
    for value in args.positional[1:]:
        element, length = containers.iterate(frame, value)
        elements.append(element)
        lengths.append(length)
    result = frame.engine.call_value(frame, args.positional[0], Arguments(elements), node)
    return IterableValue(ranks.SAME, result, ranks.combine_all(lengths))


def _filter(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    element, length = containers.iterate(frame, args.positional[-1])
    selected = (presence_of(element) or element).rank
    return IterableValue(ranks.SAME, _passed(element), ranks.combine(length, selected))


def _passed(element: Value) -> Value:
    """An element that a filter lets through: it is there, as is what it holds."""
    if isinstance(element, TupleValue):
        return element.with_parts(tuple(map(_passed, element.items)))
    return element.as_present()


def _iter(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = args.positional[0]
    if value.kind is Kind.LOADER or len(args.positional) > 1:
        return value
    return IterableValue(ranks.SAME, *containers.iterate(frame, value))


def _hasattr(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """Whether a value has an attribute. A wrapped model only has those of the wrapper."""
    receiver = args.positional[0]
    name = args.positional[1].const if len(args.positional) > 1 else None
    if not isinstance(name, str):
        return _class_test_result(receiver)
    if wrapping_of(receiver) in WRAPPED_ON_SOME_WAY:
        attribute_tests.note(frame, receiver, name, node)
    if receiver.kind is Kind.MODEL and own_wrappers.has(frame, receiver, name):
        return flag(WORLD_TRUE)
    if wrapping_of(receiver) is Wrapping.WRAPPED:
        found = WORLD_TRUE if name in library.WRAPPER_ATTRIBUTES else WORLD_FALSE
        return flag(found)
    if name == models.INNER_MODEL and attribute_calls.is_without_wrapper(frame, receiver):
        return flag(False)
    if isinstance(receiver, ProjectInstance):
        known = frame.read_attribute(receiver.cls, name)
        absence = None if known is None else present_on_some.of_question(frame, receiver.cls, name, known)
        if absence is not None:
            return flag(rank=ranks.RANK_LOCAL, provenance=absence.condition)
    if isinstance(receiver, PreparedObject):
        return attribute_tests.of_prepared(name)
    if attribute_tests.has_member(frame, receiver, name) or job_flags.is_flag(frame, receiver, name):
        return flag(WORLD_TRUE)
    return _class_test_result(receiver)


def _class_test_result(receiver: Value) -> Value:
    """The answer of a test of a value's class: it differs between ranks if some ranks hold another object instead."""
    is_replaced = receiver.kind is Kind.INSTANCE and receiver.rank == ranks.RANK_LOCAL
    return derived(receiver.rank if is_replaced else ranks.SAME, Kind.NUMBER, receiver, scalar=True, dtype="bool")


def _isinstance(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    receiver = args.positional[0]
    classes = args.positional[1] if len(args.positional) > 1 else UNKNOWN
    const: World | bool | None = None
    names = class_names(classes)
    asks_for_wrapper = not models.WRAPPER_CLASSES.isdisjoint(names)
    if (asks_for_wrapper or library.are_plain_models(names)) and isinstance(receiver, PreparedObject):
        receiver = narrowed_to_model(receiver)  # only models are tested like this
    if wrapping_of(receiver) is Wrapping.WRAPPED:
        if asks_for_wrapper:
            const = WORLD_TRUE
        elif wrapper_questions.asks_for_model(frame, receiver, classes):
            const = WORLD_FALSE
    if names == ["Module"] and wrapper_questions.is_module(receiver):
        const = WORLD_TRUE
    if wrapper_questions.asks_for_nothing(receiver, classes):
        const = False
    if names == ["Tensor"] and receiver.kind in _TENSOR_OR_NOT:
        const = receiver.kind is Kind.TENSOR
    if const is not None:
        return flag(const)
    return _class_test_result(receiver)


# Kinds of which it is known whether they are tensors.
_TENSOR_OR_NOT = frozenset({Kind.TENSOR, Kind.NUMBER, Kind.NUMBER_LIST, Kind.STRING, Kind.CONTAINER})


def is_tensor(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`torch.is_tensor(x)`: the same as `isinstance(x, torch.Tensor)`."""
    receiver = args.get(0, "obj") or UNKNOWN
    if receiver.kind not in _TENSOR_OR_NOT:
        return SAME
    return flag(receiver.kind is Kind.TENSOR)


def _absolute(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    value = args.positional[0]
    return derived(ranks.nonlinear(value.rank), value.kind, value, scalar=value.scalar, dtype=value.dtype)


BUILTINS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {
    "abs": _absolute,
    "all": _quantified("all"),
    "any": _quantified("any"),
    "dict": dict_constructors.new_dict,
    "dict.fromkeys": dict_constructors.from_keys,
    "enumerate": _enumerate,
    "filter": _filter,
    "frozenset": _sequence("set"),
    "getattr": attribute_calls.read,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "iter": _iter,
    "len": _len,
    "list": _sequence("list"),
    "map": _map,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "next": first_of,
    "range": ranges.new_range,
    "reversed": _sequence("list"),
    "set": _sequence("set"),
    "setattr": attribute_calls.assign,
    "sorted": _sequence("list"),
    "sum": _sum,
    "tuple": _tuple,
    "vars": attribute_calls.names_of,
    "zip": _zip,
}

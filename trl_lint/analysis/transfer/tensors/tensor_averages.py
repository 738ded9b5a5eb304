"""Follows means over a rank-local count from their division to the place where the means of the ranks are averaged.

    mask.sum()                   selected, or a total of rank-local data
    (x * mask).sum() / total     -> {the mean}, LOCAL
    gather(mean)                 LOCAL -> GATHERED
    gathered.sum() / ranks       GATHERED -> SUMMED -> reported: the means of the ranks are averaged
    x[mask].mean()               selected -> {the mean}, LOCAL
    torch.stack(means).mean()    no mean of these kinds: each batch counts the same, as it does on one process

Each function here is called with the value of an operation, and adds its `AveragingFact`. Unknown operations drop the
fact: a mean that is multiplied by an unknown value may have been weighted by its count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.events import Averaged
from trl_lint.analysis.program.idioms.overlap_scores import is_overlap_score
from trl_lint.analysis.program.idioms.words_of_texts import is_list_of_words
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.operands import dimensions_of, is_data, is_number, is_of_own_data
from trl_lint.domain import averaging, ranks
from trl_lint.domain.averaging import NOTHING, RANKS, SELECTED, TOTAL, AveragingFact, Mean, MeanForm, Stage
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import NO_WRITES, Kind, Payload, Value, Write
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.computing_libraries import ERROR_RATES
from trl_lint.knowledge.torch_ops import AveragingTransfer, Operation

_WHY = {
    MeanForm.RATIO: "`{}` averages this rank's own number of elements",
    MeanForm.SELECTED: "`{}` averages only the elements that this rank's data select",
    MeanForm.NAN: "`{}` averages only this rank's elements that are not NaN",
    MeanForm.LOSS: "`{}` averages only this rank's labels that are not ignored",
    MeanForm.RATE: "`{}` divides by the number of words or characters in this rank's own texts",
}
# Operators with the same effect as methods and functions of torch.
_OPERATORS: Mapping[type[cst.CSTNode], AveragingTransfer] = {
    cst.Add: AveragingTransfer.ADDS, cst.AddAssign: AveragingTransfer.ADDS,
    cst.Subtract: AveragingTransfer.ADDS, cst.SubtractAssign: AveragingTransfer.ADDS,
    cst.Multiply: AveragingTransfer.MULTIPLIES, cst.MultiplyAssign: AveragingTransfer.MULTIPLIES,
    cst.Divide: AveragingTransfer.DIVIDES, cst.DivideAssign: AveragingTransfer.DIVIDES,
}  # fmt: skip
# Methods that are relevant for any receiver.
_ALWAYS_EXAMINED = frozenset({
    AveragingTransfer.ADDS, AveragingTransfer.DIVIDES, AveragingTransfer.MEAN_OF_NUMBERS,
    AveragingTransfer.MULTIPLIES, AveragingTransfer.SELECTS, AveragingTransfer.SUM, AveragingTransfer.TRAINS,
})  # fmt: skip
_MEANS = frozenset({AveragingTransfer.MEAN, AveragingTransfer.MEAN_OF_NUMBERS})
_HOST = frozenset({"float", "int", "list", "reversed", "round", "sorted", "tuple"})
# The keywords of torch.nn.functional's losses for labels that don't count, and for what is made of all losses.
_IGNORING = "ignore_index"
_REDUCTION = "reduction"


# --- the operations -------------------------------------------------------------------------------------


def of_method(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, result: Value) -> Value:
    """What `receiver.name(…)` is a mean or a count of."""
    row = torch_ops.of_method(name)
    arguments = args.all()
    if receiver.averaging is None and row.averages not in _ALWAYS_EXAMINED and not any(map(_averaging_of, arguments)):
        return result
    if row.averages is AveragingTransfer.TRAINS:
        trained(receiver, *arguments)
        return result
    if receiver.kind not in _DATA:
        return result
    return _with(result, _called(frame, _Call(row, receiver, args.positional, args.keywords, node, result)))


_averaging_of = attrgetter("averaging")
_DATA = frozenset({Kind.BATCH, Kind.NUMBER, Kind.NUMBER_LIST, Kind.TENSOR, Kind.UNKNOWN})


def of_function(frame: Frame, row: Operation, args: Arguments, node: cst.CSTNode, result: Value) -> Value:
    """The fact of a function of torch, numpy, … from its arguments (containers count as their elements)."""
    if not args.positional:
        return result
    subject, *others = args.positional
    if row.averages is AveragingTransfer.JOINS:
        return _with(result, _joined(args.all()))
    if _IGNORING in args.keywords and result.rank.differs and result.rank.how == "mean":
        return _with(result, _new_mean(frame, node, MeanForm.LOSS, result))
    if _REDUCTION in args.keywords and result.rank.how == "sum" and is_of_own_data(result):
        return _with(result, TOTAL)  # `cross_entropy(x, y, reduction="sum")`, which may be added up over the batches
    return _with(result, _called(frame, _Call(row, subject, others, args.keywords, node, result)))


def of_texts(frame: Frame, name: str, node: cst.CSTNode, result: Value) -> Value:
    """The error rate of this rank's own texts, or a number of errors in one of them."""
    if not is_of_own_data(result):
        return result
    return _with(result, _new_mean(frame, node, MeanForm.RATE, result) if name in ERROR_RATES else TOTAL)


def of_builtin(frame: Frame, name: str, args: Arguments, result: Value) -> Value:
    """The facts of Python's builtins of counts, and of lists of means."""
    if not args.positional or (name not in _HOST and name not in ("len", "max", "min", "sum")):
        return result
    subject, *others = args.positional
    fact = subject.averaging or NOTHING
    if name in _HOST:
        return _with(result, subject.averaging)
    if name in ("max", "min"):
        return _with(result, _bounded(fact, others))
    element = containers.iterate(frame, subject)[0] if subject.kind in (Kind.CONTAINER, Kind.ITERABLE) else subject
    if element.averaging is not None and element.averaging.stage is Stage.GATHERED:
        return _with(result, RANKS if name == "len" else element.averaging._replace(stage=Stage.SUMMED))
    if name == "len":
        is_own = fact.selected or is_list_of_words(args.expression(0))
        return _with(result, TOTAL if is_own and result.rank.differs else None)
    if result.rank.how == "count" and not (element.averaging or NOTHING).total:
        return _with(result, None)  # sizes of batches, as if they were added one by one
    return _with(result, TOTAL if is_of_own_data(result) and (result.scalar or is_number(result)) else None)


def of_operation(
    frame: Frame, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, result: Value
) -> Value:
    """The fact of a binary operator on means and totals."""
    if left.averaging is None and right.averaging is None:
        return result
    how = _OPERATORS.get(type(operator), AveragingTransfer.NOTHING)
    return _with(result, _operated(frame, how, left, right, node, result))


def of_comparison(left: Value, right: Value, result: Value) -> Value:
    """`preds[mask] == labels[mask]` has the number of elements that the mask selects."""
    selected = any(each.averaging is not None and each.averaging.selected for each in (left, right))
    return _with(result, SELECTED) if selected and is_data(result) and not result.scalar else result


def of_index(frame: Frame, container: Value, node: cst.Subscript, result: Value) -> Value:
    """`x[mask]` has the number of elements that the mask selects; one of several means is a mean."""
    if not is_data(container):
        return result
    fact = container.averaging or NOTHING
    indices = list(_indices(node))
    if any(_selects(frame, index) for index in indices):
        fact = fact._replace(selected=True)
    elif len(indices) == 1 and isinstance(indices[0], cst.Integer):
        return of_entry(container, result)
    return _with(result, fact._replace(total=False, totals=False))


def of_entry(container: Value, result: Value) -> Value:
    """`sums[0]`, and `total` of `total, count = sums`."""
    if not is_data(container):
        return result
    fact = container.averaging or NOTHING
    return _with(result, fact._replace(selected=False, total=fact.totals, totals=False))


def of_comprehension(selected: ranks.Rank, result: Value) -> Value:
    """`[x for x in data if test]`: the number of elements depends on the data."""
    return _with(result, SELECTED) if selected.differs and Origin.DATA in selected.origins else result


# --- collectives ----------------------------------------------------------------------------------------


def collected(frame: Frame, value: Value, node: cst.CSTNode, how: str) -> AveragingFact | None:
    """The fact of a mean after a collective that gathers it ("gathered"), or reduces it ("sum", "mean", …)."""
    fact = value.averaging
    if fact is None or not fact.means:
        return None
    if how == "mean" or (how == "sum" and fact.stage is Stage.SHARED):
        _report(frame, fact, node)
        return None
    stage = {"gathered": Stage.GATHERED, "sum": Stage.SUMMED}.get(how)
    return (
        None if stage is None or fact.stage is not Stage.LOCAL else fact._replace(stage=stage, terms=averaging.NO_MEANS)
    )


def with_call(value: Value, write: Write) -> Value:
    """A mean passed to a project function: what the function does with it is attributed to the call's statement."""
    fact = value.averaging
    if fact is None or not fact.means or fact.passed_by:
        return value
    return value.replace(averaging=fact._replace(passed_by=frozenset((write,))))


def trained(*values: Value) -> None:
    """A backward pass starts from these: averaging the means of the ranks is then intended."""
    for value in values:
        trained(*value.items[:1])
        for mean in value.averaging.terms if value.averaging is not None else ():
            mean.train()


# --- rules ----------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """A method of `subject`, or a function of it and `args`, at `node`."""

    row: Operation
    subject: Value
    args: Sequence[Value]
    keywords: Mapping[str, Value]
    node: cst.CSTNode
    result: Value

    @property
    def fact(self) -> AveragingFact:
        return self.subject.averaging or NOTHING

    @property
    def others(self) -> Sequence[Value]:
        return (*self.args, *self.keywords.values())


def _called(frame: Frame, call: _Call) -> AveragingFact | None:
    return _TRANSFERS.get(call.row.averages, _computed)(frame, call)


def _unchanged(frame: Frame, call: _Call) -> AveragingFact | None:
    return call.subject.averaging


def _within_bounds(frame: Frame, call: _Call) -> AveragingFact | None:
    return _bounded(call.fact, call.others)


def _grown(frame: Frame, call: _Call) -> AveragingFact | None:
    return call.fact if call.fact.means else _computed(frame, call)  # the exponential of a sum is no sum


def _selected(frame: Frame, call: _Call) -> AveragingFact | None:
    return call.fact._replace(selected=True, total=False) if is_of_own_data(call.result) else call.fact


def _counted(frame: Frame, call: _Call) -> AveragingFact | None:
    return RANKS if call.fact.stage is Stage.GATHERED else TOTAL if call.fact.selected else None


def _sized(frame: Frame, call: _Call) -> AveragingFact | None:
    is_first = bool(call.args) and call.args[0].const == 0
    return (_counted if is_first else _computed)(frame, call)


def _combined(frame: Frame, call: _Call) -> AveragingFact | None:
    if not call.args:
        return _computed(frame, call)
    return _operated(frame, call.row.averages, call.subject, call.args[0], call.node, call.result)


def _computed(frame: Frame, call: _Call) -> AveragingFact | None:
    others = call.others
    selected = call.fact.selected or any(value.averaging is not None and value.averaging.selected for value in others)
    return SELECTED if selected and not call.result.scalar else None


def _reduced(frame: Frame, call: _Call) -> AveragingFact | None:
    row, subject, args, keywords, node, _ = call
    fact = call.fact
    over = dimensions_of(args, keywords)
    if over is not None and not (type(over.const) is int and over.const == 0):
        return SELECTED if fact.selected else None
    is_mean, is_sum = row.averages in _MEANS, row.averages is AveragingTransfer.SUM
    if fact.means and fact.stage is Stage.GATHERED:
        if is_mean and "weights" not in keywords:
            _report(frame, fact, node)
        return fact._replace(stage=Stage.SUMMED) if is_sum else None
    if fact.means:  # of a list of them, the mean over batches is one on any number of processes
        return fact if subject.scalar or is_sum else None
    if not is_of_own_data(subject):
        return None
    if is_sum:
        return TOTAL if over is None else None
    over_numbers = row.averages is AveragingTransfer.MEAN_OF_NUMBERS and not subject.scalar
    if is_mean and (fact.selected or over_numbers):
        return _new_mean(frame, node, MeanForm.SELECTED if fact.selected else MeanForm.NAN, subject)
    return None


_TRANSFERS: Mapping[AveragingTransfer, Callable[[Frame, _Call], AveragingFact | None]] = {
    AveragingTransfer.KEEPS: _unchanged,
    AveragingTransfer.BOUNDS: _within_bounds,
    AveragingTransfer.GROWS: _grown,
    AveragingTransfer.SELECTS: _selected,
    AveragingTransfer.COUNTS: _counted,
    AveragingTransfer.SIZE: _sized,
    AveragingTransfer.SUM: _reduced,
    AveragingTransfer.MEAN: _reduced,
    AveragingTransfer.MEAN_OF_NUMBERS: _reduced,
    AveragingTransfer.REDUCES: _reduced,
    AveragingTransfer.ADDS: _combined,
    AveragingTransfer.MULTIPLIES: _combined,
    AveragingTransfer.DIVIDES: _combined,
}


def _operated(
    frame: Frame, how: AveragingTransfer, left: Value, right: Value, node: cst.CSTNode, result: Value
) -> AveragingFact | None:
    one, two = left.averaging or NOTHING, right.averaging or NOTHING
    selected = (one.selected or two.selected) and not result.scalar
    match how:
        case AveragingTransfer.DIVIDES:
            found = _divided(frame, left, right, node)
        case AveragingTransfer.MULTIPLIES:
            found = _scaled(left, right) or _scaled(right, left) or _weighted(left, right) or _weighted(right, left)
        case AveragingTransfer.ADDS:
            found = _added(left, right)
        case _:
            found = None
    if not selected:
        return found
    return SELECTED if found is None else found._replace(selected=True, total=False)


def _divided(frame: Frame, left: Value, right: Value, node: cst.CSTNode) -> AveragingFact | None:
    fact, below = left.averaging or NOTHING, right.averaging or NOTHING
    if fact.means and fact.stage is Stage.SUMMED:
        if right.const is WORLD_SIZE or below.stage is Stage.RANKS:
            _report(frame, fact, node)
        return None
    if fact.means and fact.stage is Stage.LOCAL and right.const is WORLD_SIZE:
        return fact._replace(stage=Stage.SHARED)
    one_each = (left.scalar or fact.total) and _is_sum(left)
    if below.total and one_each and is_of_own_data(left) and is_of_own_data(right):
        if is_overlap_score(frame.root, node):
            return None
        return _new_mean(frame, node, MeanForm.RATIO, right)
    return _scaled(left, right)


def _scaled(value: Value, factor: Value) -> AveragingFact | None:
    """A mean (or a total) scaled by a factor that is the same on all ranks; gathered means only by a single number."""
    fact = value.averaging
    if fact is None or factor.rank.state is not State.SAME or factor.const is WORLD_SIZE:
        return None
    if fact.stage is Stage.LOCAL:
        return fact
    is_one = is_number(factor) and not factor.rank.is_reduced
    return fact if fact.stage is Stage.GATHERED and is_one else None


def _weighted(value: Value, count: Value) -> AveragingFact | None:
    """A mean times its count is a sum of this rank's data: `loss * (labels != -100).sum()`."""
    is_total = (count.averaging or NOTHING).total and (count.scalar or is_number(count))
    is_mean = value.rank.how in ranks.AVERAGES and (value.scalar or is_number(value))
    return TOTAL if is_total and is_mean and is_of_own_data(value) and is_of_own_data(count) else None


def _added(left: Value, right: Value) -> AveragingFact | None:
    one, two = left.averaging or NOTHING, right.averaging or NOTHING
    if one.means and two.means:
        return averaging.joined(one, two)
    for value, other in ((left, right), (right, left)):
        fact = value.averaging
        if fact is None:
            continue
        if other.rank.state is State.SAME and fact.stage in (Stage.LOCAL, Stage.GATHERED):
            return fact
        if fact.means and fact.stage is Stage.LOCAL and other.rank.how in ranks.AVERAGES:
            return fact
    if one.totals and two.totals:
        return NOTHING._replace(totals=True)
    return TOTAL if one.total and two.total else None


def _bounded(fact: AveragingFact, others: Iterable[Value]) -> AveragingFact | None:
    return fact if all(other.rank.state is State.SAME for other in others) else None


def _joined(values: Iterable[Value]) -> AveragingFact | None:
    fact: AveragingFact | None = None
    totals = True
    for value in values:
        fact = averaging.joined(fact, value.averaging)
        totals = totals and value.averaging is not None and value.averaging.total
    return None if fact is None else fact._replace(total=False, totals=totals)


def _is_sum(value: Value) -> bool:
    return value.rank.how in ("sum", "count") or (value.averaging is not None and value.averaging.total)


def _indices(node: cst.Subscript) -> Iterable[cst.BaseExpression]:
    for element in node.slice:
        match element.slice:
            case cst.Index(value=cst.Tuple(elements=inner)):
                yield from (each.value for each in inner)
            case cst.Index(value=index):
                yield index


def _selects(frame: Frame, index: cst.BaseExpression) -> bool:
    """Whether an index is a mask of rank-local data, or a list of positions selected by them."""
    value = frame.known_value(index)
    if value is None:
        return False
    if value.averaging is not None and value.averaging.selected:
        return True
    inverted = isinstance(index, cst.UnaryOperation) and isinstance(index.operator, cst.BitInvert)
    is_mask = value.dtype == "bool" or (inverted and value.dtype == "")
    return is_mask and is_data(value) and not value.scalar and is_of_own_data(value)


def _with(result: Value, fact: AveragingFact | None) -> Value:
    """The result with the fact of its operation; the terms of its operands are kept."""
    if result.averaging is not None and result.averaging.terms:
        fact = averaging.joined(averaging.only_terms(result.averaging), fact)
    return (
        result
        if fact is result.averaging or (fact == NOTHING and result.averaging is None)
        else result.replace(averaging=fact)
    )


def _new_mean(frame: Frame, node: cst.CSTNode, form: MeanForm, over: Value) -> AveragingFact:
    frame.engine.note_stored("mean", node, form, over.provenance)
    known = frame.engine.means
    mean = known.get(id(node))
    if mean is None:
        provenance, payload = frame.step(node, _WHY[form], over.provenance), _payload(frame, node, over)
        mean = known[id(node)] = Mean(frame.module, node, form, provenance, payload, len(known), frame.function)
    return averaging.fact_of_mean(mean)


def _payload(frame: Frame, node: cst.CSTNode, value: Value) -> Payload:
    """What a fix needs to know of an expression and its context."""
    reducers = frame.custom_reducers() if frame.engine.custom else ()
    return Payload(node, value, frame.node_values, frame.memory.control, frame.function, frame.accelerator(), reducers)


def _report(frame: Frame, fact: AveragingFact, node: cst.CSTNode) -> None:
    """Report that the means of the ranks are averaged here, or by the statement that passed them on."""
    frame.emit(
        Averaged,
        node,
        tag=(fact.means, fact.passed_by),
        means=fact.means,
        passed_by=fact.passed_by or NO_WRITES,
        statement=frame.statement,
        payload=_payload(frame, node, Value(ranks.REDUCED)),
    )

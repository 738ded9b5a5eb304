"""Metrics, and running means, that are fed batch by batch: rank-local, unless the batches were gathered.

For example:

    metric = evaluate.load("accuracy")
    metric.add_batch(predictions=preds, references=labels)     preds: shard
    metric.compute()["accuracy"]                               local(data)
    evaluate.load("wer").compute(predictions=texts, …)          texts: shard; local(data)
    meter = timm.utils.AverageMeter()
    meter.update(loss.item(), len(batch))                      loss.item(): partial(mean)
    meter.avg                                                  local(data)
    self.accuracy = torchmetrics.Accuracy()
    self.accuracy(preds, labels)                               local(data), in a LightningModule
"""

from __future__ import annotations

from functools import reduce

import libcst as cst

from trl_lint.analysis.interpreter.operations.pure_calls import spread
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import NONE, MetricObject, NumberValue, TensorValue
from trl_lint.domain.ranks import METRIC, Origin, Rank, State
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.evaluation import COMPUTES, FEEDS, GIVE_NUMBERS, UPDATES
from trl_lint.knowledge.lightning import is_module


def result(frame: Frame, metric: MetricObject) -> Value:
    """The result of a running mean so far."""
    found = _fed(frame, metric)
    return reduce(_merged, found) if found else UNKNOWN


def _fed(frame: Frame, metric: MetricObject) -> list[Value]:
    return [cell.rest for cell in frame.memory.cells(metric) if cell.rest is not None]


def _merged(one: Value, other: Value) -> Value:
    """A metric over two sets of samples."""
    main = one if one.rank.differs or not other.rank.differs else other
    return main.replace(rank=one.rank if one.rank == other.rank else _combined(one.rank, other.rank))


def _combined(one: Rank, other: Rank) -> Rank:
    rank = ranks.combine(one, other)
    return rank._replace(how=METRIC) if rank.state is State.LOCAL else rank


def new_metric(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """A metric without any samples. `const` is its name."""
    name = args.positional[0].const if args.positional else None
    return MetricObject(ranks.SAME, frame.allocate(node, Cell("list")).identities).replace(const=name)


def call(frame: Frame, receiver: MetricObject, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    if name in FEEDS or name in UPDATES:
        fed = _counted(frame, args if name in FEEDS else Arguments(args.positional[:1]), node)
        if fed is not None:
            frame.update(
                receiver,
                lambda cell: Cell("list", rest=fed if cell.rest is None else _merged(cell.rest, fed)),
            )
        return NONE
    if name not in COMPUTES:
        return frame.engine.unresolved(frame, args, node)
    fed_now = _counted(frame, args, node)
    found = [*_fed(frame, receiver), *([] if fed_now is None else [fed_now])]
    frame.update(receiver, lambda cell: Cell("list"))
    if not found:
        return UNKNOWN
    computed = reduce(_merged, found)
    return computed if receiver.const in GIVE_NUMBERS else frame.allocate(node, Cell("dict", rest=computed))


def of_batch(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a metric of torchmetrics for these arguments alone, in a module that gets this rank's share.

    The metric itself, if that is what is logged, gathers what all ranks have added. Source: torchmetrics/metric.py
    `Metric.forward`; lightning/pytorch/core/module.py `LightningModule.log`.
    """
    if frame.cls is None or not is_module(frame.cls.library_bases()):
        return None
    value = _counted(frame, args, node)
    if value is None or value.rank.state is not State.LOCAL or value.rank.origins != Origin.DATA:
        return None
    return TensorValue(value.rank, scalar=True, dtype="float", provenance=value.provenance)


def _counted(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The metric over the samples in these arguments; None if there are none."""
    flat = spread(frame, args)
    values = flat.all()
    if not values:
        return None
    rank = flat.rank()
    if not rank.differs:
        return NumberValue(rank, scalar=True)
    first = flat.differing()
    provenance = None if first is None else first.provenance
    step = frame.step(node, "it counts only this rank's own samples", provenance)
    return NumberValue(Rank(State.LOCAL, rank.origins, METRIC), scalar=True, provenance=step)

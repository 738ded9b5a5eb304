"""Metrics that are updated batch by batch. Read from evaluate 0.4.6, datasets 2.14.0 and torchmetrics 1.9.0.

A metric of `evaluate` counts only what its own process has added, unless it is loaded with the number of processes. A
metric of torchmetrics gathers what all ranks have added when its result is computed.
"""

from __future__ import annotations

from collections.abc import Collection

from trl_lint.domain import ranks
from trl_lint.domain.kinds import BatchRole, BatchValue, IterableValue
from trl_lint.domain.values import Value
from trl_lint.knowledge.schema import (
    LOCAL_TENSOR,
    NOTHING,
    REDUCED,
    UNKNOWN,
    Attribute,
    Class,
    Collective,
    Function,
    Row,
    Synchronisation,
    instance,
)

# Represents all classes of torchmetrics: their instances are metrics, or collections of metrics.
METRIC = "torchmetrics.Metric"
# The same for those of which a call returns no result of this rank's batch alone, or may return another one.
METRIC_OF_STEPS = "torchmetrics.MetricOfSteps"
# The same for those whose results are dicts, made anew each time, which code adds its own metrics to.
METRICS = "torchmetrics.MetricCollection"
_GIVE_DICTS = frozenset({"ClasswiseWrapper", "MetricCollection"})
IMPORTS = rb"(?m)^\s*(?:from|import)\s+torchmetrics\b"
_SOURCE = "torchmetrics/metric.py::Metric"
_METRICS_SOURCE = "torchmetrics/collections.py::MetricCollection"
# What a call of one returns for a batch: each rank's own value, unless the metric was told to synchronise it as well.
RESULTS_OF_BATCH = BatchValue(ranks.UNKNOWN, BatchRole.METRICS)
# A list of what this rank has added so far.
_ADDED = IterableValue(ranks.SHARD, LOCAL_TENSOR, ranks.LOCAL)
# Constructor arguments by which a metric does not synchronise with other ranks, or only with some.
WITHOUT_SYNCHRONISATION = frozenset({"dist_sync_fn", "distributed_available_fn", "process_group", "sync_on_compute"})
# What `compute` returns is kept until the next update (`compute_with_cache`).
_COMPUTED = Synchronisation("metric", once=True)
OWN_SYNCHRONISATION = rb"\b(?:" + "|".join(sorted(WITHOUT_SYNCHRONISATION)).encode() + rb")\b"
# Those by which a call synchronises as well, or returns nothing; `**` stands for arguments that may be any of these.
OPEN_ARGUMENTS = "**"
_OF_CALLS = frozenset({OPEN_ARGUMENTS, "compute_on_step", "dist_sync_on_step"})
# The package of the classes of torchmetrics before it was one of its own: in releases 1.0 to 1.5, which have `log`.
_PACKAGES = ("pytorch_lightning.metrics.", "torchmetrics.")

# What its classes count with: a confusion matrix, or the true and false positives and negatives. And the methods with
# which a class says itself what is computed of that, and what reduces it without them.
# Source: torchmetrics/classification/confusion_matrix.py, stat_scores.py; torchmetrics/metric.py `Metric.sync_context`
STATES = frozenset({"confmat", "fn", "fp", "tn", "tp"})
COMPUTING = frozenset({"compute", "forward", "sync", "sync_context"})
REDUCES_STATES = rb"\bsync(?:_context)?\(|all_gather|all_reduce|\breduce\(|\bgather"
# The method by which a class of the project adds a state of its own (torchmetrics/metric.py `Metric.add_state`).
ADDS_STATE = "add_state"

# The layout of a table is by hand: one or two lines per row.
# fmt: off

ROWS: tuple[Row, ...] = (
    Function(name="evaluate.load", source="loading.py::load", returns="metric",
             switch=(4, "num_process"), switched=UNKNOWN),
    Function(name="evaluate.combine", source="module.py::combine", returns="metric"),
    Function(name="datasets.load_metric", source="load.py::load_metric", returns="metric", until="3.0",
             switch=(3, "num_process"), switched=UNKNOWN),
    Class(name=METRIC, source=_SOURCE),
    Function(name=f"{METRIC}.compute", source=f"{_SOURCE}._wrap_compute", returns=REDUCED,
             synchronises=_COMPUTED),
    *(
        Function(name=f"{METRIC}.{name}", source=f"{_SOURCE}.{name}", returns=NOTHING,
                 synchronises=Synchronisation("metric", allowed="should_sync"))
        for name in ("sync", "sync_context")
    ),
    Collective(name="torchmetrics.utilities.distributed.gather_all_tensors", operand=(0, "result"), fails="always",
               source="torchmetrics/utilities/distributed.py::gather_all_tensors", groups=((1, "group"),)),
    Class(name=METRIC_OF_STEPS, source=f"{_SOURCE}._forward_reduce_state_update", bases=(METRIC,)),
    Class(name=METRICS, source=_METRICS_SOURCE, bases=(METRIC,)),
    Function(name=f"{METRICS}.compute", source=f"{_METRICS_SOURCE}.compute",
             returns=BatchValue(ranks.REDUCED, BatchRole.METRICS), synchronises=_COMPUTED),
    *(
        Function(name=f"{METRICS}.{name}", source=f"{_METRICS_SOURCE}.{name}", returns=instance(METRICS))
        for name in ("clone", "cpu", "cuda", "eval", "to", "train")
    ),
    *(
        Attribute(name=f"{METRIC}.{name}", source=f"{_SOURCE}.add_state", value=_ADDED)
        for name in (
            "detection_box", "detection_labels", "detection_scores", "detections", "groundtruth_box",
            "groundtruth_labels", "groundtruths", "preds", "target",
        )
    ),
    *(
        Function(name=f"{METRIC}.{name}", source=f"{_SOURCE}.{name}", returns=NOTHING)
        for name in ("reset", "update")
    ),
    *(
        Function(name=f"{cls}.{name}", source=f"{_SOURCE}.{name}", returns=instance(cls))
        for cls in (METRIC, METRIC_OF_STEPS) for name in ("clone", "cpu", "cuda", "eval", "to", "train")
    ),
)
# Methods that update such a metric, and that compute its result.
FEEDS = frozenset({"add", "add_batch"})
COMPUTES = frozenset({"compute"})
# The metrics of `evaluate` that are computed as a number, and not as a dict (metrics/wer/wer.py, cer.py `_compute`).
GIVE_NUMBERS = frozenset({"cer", "wer"})
# The method that updates a running mean, `update(value, n=1)`, and the attributes with its results.
UPDATES = frozenset({"update"})
RESULTS = frozenset({"avg", "sum", "val"})
# fmt: on


def is_metric_class(name: str) -> bool:
    """Whether a name is that of a class of torchmetrics."""
    return name.startswith(_PACKAGES) and name.rpartition(".")[2][:1].isupper()


def synchronised_metric(name: str, keywords: Collection[str]) -> Value | None:
    """An instance of a class of torchmetrics; unknown if the arguments say with whom it synchronises."""
    if not is_metric_class(name):
        return None
    made = METRIC if _OF_CALLS.isdisjoint(keywords) else METRIC_OF_STEPS
    made = METRICS if name.rpartition(".")[2] in _GIVE_DICTS else made
    return instance(made) if WITHOUT_SYNCHRONISATION.isdisjoint(keywords) else UNKNOWN

"""MONAI's metrics that are updated batch by batch, and its gathering of tensors.

Read from monai 1.4.0. A metric keeps what its own process has added. The first time that its result is asked for after
that, all ranks gather what each has (`monai/metrics/metric.py`, `Cumulative._sync`). The same in monai 0.8. What a call
returns is the metric of each of its own samples (`CumulativeIterationMetric.__call__`).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import NOTHING, REDUCED, Class, Function, Row, Synchronisation

_CUMULATIVE = "monai.metrics.Cumulative"
_SOURCE = "monai/metrics/metric.py::Cumulative"
_GATHERS = Synchronisation("metric", once=True)
_CLASSES = (
    "ConfusionMatrixMetric", "CumulativeAverage", "CumulativeIterationMetric", "DiceMetric", "FBetaScore",
    "GeneralizedDiceScore", "HausdorffDistanceMetric", "LossMetric", "MAEMetric", "MSEMetric", "MeanIoU",
    "MultiScaleSSIMMetric", "PSNRMetric", "PanopticQualityMetric", "RMSEMetric", "ROCAUCMetric", "RegressionMetric",
    "SSIMMetric", "SurfaceDiceMetric", "SurfaceDistanceMetric",
)  # fmt: skip
# Those that are called with predictions, and return their values for these.
CALLED = frozenset(f"monai.metrics.{name}" for name in _CLASSES) - {"monai.metrics.CumulativeAverage"}

# fmt: off
ROWS: tuple[Row, ...] = (
    Class(name=_CUMULATIVE, source=_SOURCE),
    *(Class(name=f"monai.metrics.{name}", source="monai/metrics/__init__.py", bases=(_CUMULATIVE,))
      for name in _CLASSES),
    *(Function(name=f"{_CUMULATIVE}.{name}", source=f"{_SOURCE}.{name}", returns=REDUCED, synchronises=_GATHERS)
      for name in ("aggregate", "get_buffer")),
    Function(name=f"{_CUMULATIVE}.reset", source=f"{_SOURCE}.reset", returns=NOTHING),
    Function(name="monai.utils.evenly_divisible_all_gather", source="monai/utils/dist.py::evenly_divisible_all_gather",
             returns=REDUCED, synchronises=Synchronisation("gather")),
)
# fmt: on

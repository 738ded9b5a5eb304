"""Metrics that are fed batch by batch. Read from evaluate 0.4.3 and datasets 2.14.0.

A metric of `evaluate` counts what its own process has fed it, unless it is told of the others as it is loaded.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import UNKNOWN, Function, Row

# The layout of a table is by hand: one or two lines per row.
# fmt: off

ROWS: tuple[Row, ...] = (
    Function(name="evaluate.load", source="loading.py::load", returns="metric",
             switch=(4, "num_process"), switched=UNKNOWN),
    Function(name="evaluate.combine", source="module.py::combine", returns="metric"),
    Function(name="datasets.load_metric", source="load.py::load_metric", returns="metric", until="3.0",
             switch=(3, "num_process"), switched=UNKNOWN),
)
# What feeds such a metric, and what asks it for its result.
FEEDS = frozenset({"add", "add_batch"})
COMPUTES = frozenset({"compute"})
# fmt: on

"""OpenMMLab's helpers for `torch.distributed`, in mmcv and in mmengine, which has taken their place.

Read from mmcv 1.7 (`mmcv/runner/dist_utils.py`, `mmcv/parallel/distributed.py`, `mmcv/engine/test.py`) and mmengine
0.11 (`mmengine/dist/{dist,utils}.py`, `mmengine/model/wrappers/distributed.py`). mmengine's collectives of tensors move
these to this process's device first, and do nothing on one process; they are known by their names.
"""

from __future__ import annotations

from collections.abc import Collection

from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    GLOBAL_RANK_INDEX,
    NOTHING,
    SOME_MODEL,
    WRAP,
    Class,
    Collective,
    Function,
    OpaqueCall,
    Row,
    Synchronisation,
    items,
)

# Functions that make an object of a class in the registry that they are passed, in mmcv and in mmengine, and by which
# parameter, which copies of them have as well (`mmcv/utils/registry.py`, `mmengine/registry/build_functions.py`).
BUILD_FROM_REGISTRY = frozenset({"build_from_cfg", "build_model_from_cfg", "build_runner_from_cfg"})
REGISTRY = (1, "registry")
_RUNNER, _DIST = "mmcv.runner", "mmengine.dist"
_RUNNER_SOURCE = "mmcv/runner/dist_utils.py::"
_DIST_SOURCE = "mmengine/dist/utils.py::"
# fmt: off
ROWS: tuple[Row, ...] = (
    # Heirs of DistributedDataParallel with methods of their own, such as `train_step`, which run its forward.
    Class(name="mmcv.parallel.MMDistributedDataParallel",
          source="mmcv/parallel/distributed.py::MMDistributedDataParallel", makes=SOME_MODEL, synchronises=WRAP),
    Class(name="mmengine.model.MMDistributedDataParallel",
          source="mmengine/model/wrappers/distributed.py::MMDistributedDataParallel", makes=SOME_MODEL,
          synchronises=WRAP),
    *(
        row
        for module, source in ((_RUNNER, _RUNNER_SOURCE), (_DIST, _DIST_SOURCE))
        for row in (
            Function(name=f"{module}.get_dist_info", source=f"{source}get_dist_info",
                     returns=items(GLOBAL_RANK_INDEX, ALL_PROCESSES)),
            Function(name=f"{module}.init_dist", source=f"{source}init_dist", returns=NOTHING),
        )
    ),
    Collective(name=f"{_DIST}.barrier", source=f"{_DIST_SOURCE}barrier", operand=(-1, ""), result="barrier", fails="",
               groups=((0, "group"),)),
    # The first rank gets the results of all, the others None.
    *(
        OpaqueCall(name=f"{module}.{name}", source=f"{source}{name}", synchronises=Synchronisation("results"))
        for module, source, names in (
            ("mmcv.engine", "mmcv/engine/test.py::", ("collect_results_cpu", "collect_results_gpu", "multi_gpu_test")),
            (_DIST, "mmengine/dist/dist.py::", ("collect_results", "collect_results_cpu", "collect_results_gpu")),
        )
        for name in names
    ),
)
# fmt: on

# What a runner makes on each process of what its configuration lists, and the methods of it that each of them calls.
# Only the first one calls `compute_metrics` of a metric, with what all have collected.
# Source: mmcv/runner/hooks/hook.py `Hook`
# Source: mmengine 0.10.7 mmengine/hooks/hook.py `Hook.stages`, mmengine/runner/runner.py `Runner.register_hook`
# Source: mmengine 0.10.7 mmengine/evaluator/metric.py `BaseMetric.evaluate`, evaluator.py `Evaluator.__init__`
_MODES = ("train", "val", "test")
_STAGES = frozenset(
    f"{when}_{stage}"
    for when in ("before", "after")
    for stage in ("run", "epoch", "iter", *(f"{mode}{part}" for mode in _MODES for part in ("", "_epoch", "_iter")))
)
_MADE = "__init__"
_RUN_BY_ALL = {
    "mmcv.runner.Hook": _STAGES | {_MADE},
    "mmengine.evaluator.BaseMetric": frozenset({_MADE, "process"}),
    "mmengine.hooks.Hook": _STAGES | {_MADE},
}
# The modules that have these classes.
HAVE_RUN_BY_ALL = tuple(sorted(name.rpartition(".")[0].encode() for name in _RUN_BY_ALL))


def run_by_all(bases: Collection[str]) -> frozenset[str]:
    """The methods of a class with these bases that a runner calls on every process; its constructor is among them."""
    return frozenset().union(*(_RUN_BY_ALL.get(each, ()) for each in bases))

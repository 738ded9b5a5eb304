"""Ray Train's helpers for the workers of a `TorchTrainer`, each of which is a rank.

Read from ray 2.51 and 2.60 (`ray/train/torch/train_loop_utils.py`, `ray/train/context.py`).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    GLOBAL_RANK_INDEX,
    RANK_INDEX,
    REPLICATED_MODEL,
    WRAP,
    Class,
    Function,
    Row,
    instance,
)

_LOOP = "ray/train/torch/train_loop_utils.py::"
_CONTEXT = "ray.train.context.TrainContext"
_PREPARES = "ray.train.torch.prepare_data_loader"
# What replaces the random sampler of a loader by a `DistributedSampler`, which it leaves to the program to tell the
# epoch: `prepare_data_loader`, `with_sampler`: `data_loader_args["sampler"] = DistributedSampler(loader.dataset,
# shuffle=shuffle)`. Fabric's and Accelerate's loaders tell it themselves.
ADDS_SAMPLER = {_PREPARES: (0, "data_loader")}
# fmt: off
ROWS: tuple[Row, ...] = (
    Function(name=_PREPARES, source=f"{_LOOP}prepare_data_loader", returns="shared out"),
    # A function that makes a DistributedDataParallel, if there are several workers.
    Class(name="ray.train.torch.prepare_model", source=f"{_LOOP}prepare_model", makes=REPLICATED_MODEL,
          synchronises=WRAP),
    Class(name=_CONTEXT, source="ray/train/context.py::TrainContext"),
    Function(name="ray.train.get_context", source="ray/train/context.py::get_context", returns=instance(_CONTEXT)),
    *(
        Function(name=f"{_CONTEXT}.{name}", source=f"ray/train/context.py::TrainContext.{name}", returns=value)
        for name, value in {
            "get_local_rank": RANK_INDEX, "get_node_rank": RANK_INDEX, "get_world_rank": GLOBAL_RANK_INDEX,
            "get_world_size": ALL_PROCESSES,
        }.items()
    ),
)
# fmt: on

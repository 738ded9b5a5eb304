"""Composer's helpers for `torch.distributed`. Read from composer 0.32 (`composer/utils/dist.py`).

Its launcher starts one process per device. Newer releases start gloo in addition to nccl
(`composer/devices/device_gpu.py`): a tensor on the CPU is correct in these collectives, and a Python number does
nothing on one process. `barrier` has no row: it follows `local_rank_zero_download_and_wait`, in which ranks wait for a
file until the first one has written it.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    BARRIER,
    DISTRIBUTED,
    GLOBAL_RANK_INDEX,
    NOTHING,
    RANK_INDEX,
    Class,
    Collective,
    Function,
    Row,
    instance,
)

_DIST = "composer.utils.dist"
_SOURCE = "composer/utils/dist.py::"
# fmt: off
ROWS: tuple[Row, ...] = (
    Collective(name=f"{_DIST}.all_gather", source=f"{_SOURCE}all_gather", result="objects", fails="",
               groups=((1, "group"),)),
    Collective(name=f"{_DIST}.all_gather_object", source=f"{_SOURCE}all_gather_object", operand=(0, "obj"),
               result="objects", lists=True, fails="", groups=((1, "group"),)),
    Collective(name=f"{_DIST}.all_reduce", source=f"{_SOURCE}all_reduce", result="reduced", into=(0, "tensor"),
               fails="", reduction=(1, "reduce_operation", "sum"), groups=((2, "group"),)),
    Collective(name=f"{_DIST}.broadcast", source=f"{_SOURCE}broadcast", result="broadcast", into=(0, "tensor"),
               fails="", groups=((2, "group"),)),
    Collective(name=f"{_DIST}.broadcast_object_list", source=f"{_SOURCE}broadcast_object_list",
               operand=(0, "object_list"), result="broadcast", into=(0, "object_list"), lists=True, fails="",
               groups=((2, "group"),)),
    Function(name=f"{_DIST}.get_global_rank", source=f"{_SOURCE}get_global_rank", returns=GLOBAL_RANK_INDEX),
    Function(name=f"{_DIST}.get_local_rank", source=f"{_SOURCE}get_local_rank", returns=RANK_INDEX),
    Function(name=f"{_DIST}.get_node_rank", source=f"{_SOURCE}get_node_rank", returns=RANK_INDEX),
    Function(name=f"{_DIST}.get_world_size", source=f"{_SOURCE}get_world_size", returns=ALL_PROCESSES),
    Function(name=f"{_DIST}.initialize_dist", source=f"{_SOURCE}initialize_dist", returns=NOTHING),
    *(
        Function(name=f"{_DIST}.{name}", source=f"{_SOURCE}{name}", returns=DISTRIBUTED)
        for name in ("is_available", "is_initialized")
    ),
    # The other ranks wait in a barrier of all ranks for the first one of their node.
    Function(name=f"{_DIST}.run_local_rank_zero_first", source=f"{_SOURCE}run_local_rank_zero_first", returns=NOTHING,
             yields=NOTHING, first_rank="node", synchronises=BARRIER),
    Function(name=f"{_DIST}.get_sampler", source=f"{_SOURCE}get_sampler",
             returns=instance("torch.utils.data.DistributedSampler")),
    Class(name="composer.Trainer", source="composer/trainer/trainer.py::Trainer"),
)
# fmt: on

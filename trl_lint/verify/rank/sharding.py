"""Who reads what: the share of the data that a rank has, and the size of a batch.

Two changes of a run that must not change a metric of all ranks:

- each rank reads the share of the next rank. A metric that only one rank logs then shows what it would have been on the
  other one;
- one process reads batches as large as those of all ranks together.

Sources: torch/utils/data/distributed.py `DistributedSampler`; accelerate/data_loader.py `BatchSamplerShard`,
`IterableDatasetShard`; torch/utils/data/dataloader.py `DataLoader`.
"""

from __future__ import annotations

from types import ModuleType

from . import trace, wrapping
from .imports import Patch
from .job import Job
from .wrapping import Function, Wrapper

# Module, class, and the attributes with the number of the share and of all shares.
SHARDED = (
    ("torch.utils.data.distributed", "DistributedSampler", "rank", "num_replicas"),
    ("accelerate.data_loader", "BatchSamplerShard", "process_index", "num_processes"),
    ("accelerate.data_loader", "IterableDatasetShard", "process_index", "num_processes"),
)


def patch_shards(job: Job, module: str) -> Patch:
    """Make the samplers of a module read the share of another rank."""

    def patch(imported: ModuleType) -> None:
        for name, cls, index, count in SHARDED:
            if name == module and job.shift and hasattr(imported, cls):
                wrapping.replace(getattr(imported, cls), "__init__", _moved(job.shift, index, count))

    return patch


def _moved(shift: int, index: str, count: str) -> Wrapper:
    def make(original: Function) -> Function:
        def constructed(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            setattr(self, index, (getattr(self, index) + shift) % getattr(self, count))
            trace.write("moved", by=shift)

        return constructed

    return make


def patch_loader(job: Job) -> Patch:
    """Make one process read batches of the size that all ranks read together."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def constructed(self: object, *args: object, **kwargs: object) -> None:
            given = dict(zip(pick.names, (self, *args), strict=False)) | kwargs
            # accelerate's copy of a loader whose batches were already enlarged
            is_copy = type(self).__module__.startswith("accelerate.")
            size = given.get("batch_size", 1)
            if not is_copy and given.get("batch_sampler") is None and isinstance(size, int):
                given["batch_size"] = size * job.scale
            given.pop("self", None)
            original(self, **given)

        return constructed

    def patch(imported: ModuleType) -> None:
        if job.scale > 1:
            wrapping.replace(imported.DataLoader, "__init__", make)

    return patch

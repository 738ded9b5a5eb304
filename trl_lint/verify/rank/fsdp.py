"""FSDP on the CPU: accelerate shards a model only on GPUs, though torch supports it on the CPU as well.

With several processes that compute on the CPU, because there is no GPU or the script asks for the CPU (`use_cpu`),
accelerate accepts the plugin for FSDP 2 and ignores it, or wraps the model in DDP. Here its state is set to FSDP, as
with GPUs; everything else is accelerate's and torch's own code, on gloo. torch would shard over GPUs that are there, so
it is told that there are none. FSDP 1 requires a GPU in several places, and is left as it is.

Sources: accelerate/state.py `AcceleratorState.__init__` (1.6.0, 1.15.0: FSDP for `DistributedType.MULTI_GPU` and its
like); accelerate/utils/fsdp_utils.py `fsdp2_prepare_model`; torch/distributed/fsdp/_init_utils.py
`_get_compute_device`; torch/distributed/fsdp/_fully_shard/_fsdp_init.py `_init_default_fully_shard_mesh`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from . import trace, wrapping
from .wrapping import Function

NAME = "accelerate's FSDP on the CPU"
# The version of FSDP that works without a GPU.
VERSION = 2


class HasPlugin(Protocol):
    """accelerate's `AcceleratorState`."""

    distributed_type: object
    fsdp_plugin: object
    mixed_precision: str


def patch_state(module: ModuleType) -> None:
    """Make accelerate shard on the CPU what it is configured to shard, and record that."""

    def make(original: Function) -> Function:
        pick = wrapping.CallArguments(original)

        def constructed(self: HasPlugin, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            plugin = pick((self, *args), kwargs, "fsdp_plugin")
            kinds = module.DistributedType
            is_wanted = getattr(plugin, "fsdp_version", 1) == VERSION
            if is_wanted and self.distributed_type == kinds.MULTI_CPU:
                self.distributed_type, self.fsdp_plugin = kinds.FSDP, plugin
                module.PartialState._shared_state["distributed_type"] = kinds.FSDP  # as accelerate itself keeps it
                _without_accelerator(module.torch)
                if self.mixed_precision != "no":
                    getattr(plugin, "set_mixed_precision")(self.mixed_precision)  # noqa: B009 (of no type known here)
                trace.write("emulated", what=NAME)

        return constructed

    wrapping.replace(module.AcceleratorState, "__init__", make)


def _without_accelerator(torch: ModuleType) -> None:
    """Make torch choose the CPU wherever it would choose a GPU by itself."""
    if torch.cuda.is_available():
        torch._C._get_accelerator = lambda *check: torch.device("cpu")
